"""Image ids of dense and video captioning: tuples, and mixtures of integers and text."""

from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.rouge.rouge import Rouge
from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

from tests.clients.data import captions, write

references, candidates = captions(images=12)
results = []
for number in range(2):
    ids = {
        image: ("video", row // 3, row % 3) if number else (row if row % 2 else str(row + 1))
        for row, image in enumerate(references)
    }
    gts = {ids[image]: [{"caption": text} for text in texts] for image, texts in references.items()}
    res = {ids[image]: [{"caption": text}] for image, text in reversed(candidates.items())}
    tokens = PTBTokenizer().tokenize(gts), PTBTokenizer().tokenize(res)
    results.append([scorer.compute_score(*tokens) for scorer in (Bleu(4), Rouge(), Cider())])
    results.append([list(tokens[0].keys()), list(tokens[1].values())])
write(results)
