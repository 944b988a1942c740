"""As in the script of CIDEr's repository: CIDEr and CIDEr-D of a list of results, from plain text."""

from pyciderevalcap.eval import CIDErEvalCap

from tests.clients.data import captions, write

references, first = captions(images=10)
_, second = captions(images=9)
gts = {image: [{"caption": text} for text in texts] for image, texts in references.items()}
results = [{"image_id": image, "caption": text} for image, text in first.items()]
# Images may have several results.
results += [{"image_id": image, "caption": text} for image, text in zip(first, second.values(), strict=False)]
write(CIDErEvalCap(gts, results, "corpus").evaluate())
