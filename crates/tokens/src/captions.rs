//! Tokenized references and candidates of a set of images.

use std::sync::Arc;

use crate::rows::{TokenRows, tokenize};
use crate::tokenization::Tokenization;
use crate::vocabulary::Vocabulary;

/// The tokenized references of a set of images.
#[derive(Clone)]
pub struct References {
    vocabulary: Arc<Vocabulary>,
    tokens: TokenRows,
    /// The references of image `i` are the rows `starts[i]..starts[i + 1]`.
    starts: Vec<usize>,
}

impl References {
    /// Tokenizes the references of all images.
    ///
    /// The references of image `i` are `captions[starts[i]..starts[i + 1]]`, so `starts` has one more entry
    /// than there are images.
    pub fn new(captions: &[&str], starts: Vec<usize>, tokenization: Tokenization) -> Self {
        let (tokens, vocabulary) = tokenize(captions, &Vocabulary::default(), tokenization);
        Self { vocabulary: Arc::new(vocabulary), tokens, starts }
    }

    /// Concatenates the references of several sets of images.
    pub fn joined(parts: &[&Self]) -> Self {
        let mut vocabulary = Vocabulary::default();
        let mut tokens = TokenRows::with_capacity(parts.iter().map(|part| part.tokens.len()).sum());
        let mut starts = vec![0];
        for part in parts {
            let before = tokens.len();
            starts.extend(part.starts[1..].iter().map(|start| before + start));
            let numbers: Vec<u32> = part.vocabulary.words().map(|word| vocabulary.intern(word)).collect();
            tokens.append(&part.tokens, |word| numbers[word as usize]);
        }
        Self { vocabulary: Arc::new(vocabulary), tokens, starts }
    }

    /// Returns the number of images.
    pub fn images(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the rows of an image's references in [`Self::tokens`].
    pub fn of(&self, image: usize) -> std::ops::Range<usize> {
        self.starts[image]..self.starts[image + 1]
    }

    /// Returns the references as rows of words.
    pub fn tokens(&self) -> &TokenRows {
        &self.tokens
    }

    /// Returns a reference as tokens joined by single spaces.
    pub fn text(&self, row: usize) -> String {
        join(self.tokens.spaced(row), |word| self.vocabulary.word(word))
    }

    /// Returns the vocabulary of the references.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// Replaces each word by `form(word)`, such as its stem.
    pub fn replaced(&self, form: impl Fn(&str) -> String) -> Replaced {
        let mut vocabulary = Vocabulary::default();
        let forms: Vec<u32> = self.vocabulary.words().map(|word| vocabulary.intern(&form(word))).collect();
        let tokens = self.tokens.map(|word| forms[word as usize]);
        let references = Self { vocabulary: Arc::new(vocabulary), tokens, starts: self.starts.clone() };
        Replaced { references: Arc::new(references), forms }
    }
}

/// References with replaced words, and the replacement of each word.
pub struct Replaced {
    /// The references with the new words.
    pub references: Arc<References>,
    /// New word id of each old word id.
    pub forms: Vec<u32>,
}

impl Replaced {
    /// Replaces the words of candidates of the original references in the same way.
    pub fn candidates(&self, candidates: &Candidates, form: impl Fn(&str) -> String) -> Candidates {
        let vocabulary = &self.references.vocabulary;
        let base = vocabulary.len() as u32;
        let mut new = Vocabulary::default();
        let replace = |word: &str| {
            let word = form(word);
            vocabulary.id(&word).unwrap_or_else(|| base + new.intern(&word))
        };
        let forms: Vec<u32> = candidates.new.words().map(replace).collect();
        let id = |word: u32| match word.checked_sub(candidates.known.len() as u32) {
            None => self.forms[word as usize],
            Some(new) => forms[new as usize],
        };
        let tokens = candidates.tokens.map(id);
        Candidates { known: Arc::clone(vocabulary), new, tokens, images: candidates.images.clone() }
    }
}

/// The tokenized candidates of images that have references. An image may have several candidates.
#[derive(Clone)]
pub struct Candidates {
    /// The vocabulary of the references.
    known: Arc<Vocabulary>,
    new: Vocabulary,
    tokens: TokenRows,
    images: Vec<u32>,
}

impl Candidates {
    /// Tokenizes `captions`. `captions[i]` describes image `images[i]` of `references`.
    pub fn new(
        references: &References,
        captions: &[&str],
        images: Vec<u32>,
        tokenization: Tokenization,
    ) -> Self {
        let known = Arc::clone(&references.vocabulary);
        let (tokens, new) = tokenize(captions, &known, tokenization);
        Self { known, new, tokens, images }
    }

    /// Returns the number of candidates.
    pub fn len(&self) -> usize {
        self.images.len()
    }

    /// Returns whether there are no candidates.
    pub fn is_empty(&self) -> bool {
        self.images.is_empty()
    }

    /// Returns the image of each candidate.
    pub fn images(&self) -> &[u32] {
        &self.images
    }

    /// Returns the candidates as rows of words.
    ///
    /// Ids from the size of the references' vocabulary on are [`Self::new_words`].
    pub fn tokens(&self) -> &TokenRows {
        &self.tokens
    }

    /// Returns the words that are not in the references. Their ids follow the references' vocabulary.
    pub fn new_words(&self) -> &Vocabulary {
        &self.new
    }

    /// Returns a candidate as tokens joined by single spaces.
    pub fn text(&self, row: usize) -> String {
        join(self.tokens.spaced(row), |word| self.word(word))
    }

    /// Returns the number of distinct words in the references and candidates.
    pub fn word_count(&self) -> usize {
        self.known.len() + self.new.len()
    }

    /// Returns the text of a word of the candidates.
    pub fn word(&self, word: u32) -> &str {
        match word.checked_sub(self.known.len() as u32) {
            None => self.known.word(word),
            Some(new) => self.new.word(new),
        }
    }
}

fn join<'a>(words: &[u32], word: impl Fn(u32) -> &'a str) -> String {
    words.iter().map(|&id| word(id)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::CHUNK;

    fn row(references: &References, words: &[u32]) -> Vec<String> {
        words.iter().map(|&w| references.vocabulary().word(w).to_owned()).collect()
    }

    #[test]
    fn the_two_splits_differ_only_on_other_white_space() {
        let captions = ["a dog", "25\u{a0}1/2 miles", "", "a  b"];
        let tokenization =
            Tokenization::PennTreebank { options: capeval_ptb::Options::default(), alone: true };
        let dropped = References::new(&["..."], vec![0, 1], tokenization);
        assert!(dropped.tokens().words(0).is_empty());
        assert_eq!(row(&dropped, dropped.tokens().spaced(0)), [""]);
        let references = References::new(&captions, vec![0, 4], Tokenization::None);
        let tokens = references.tokens();
        assert_eq!(row(&references, tokens.words(0)), row(&references, tokens.spaced(0)));
        assert_eq!(row(&references, tokens.words(1)), ["25", "1/2", "miles"]);
        assert_eq!(row(&references, tokens.spaced(1)), ["25\u{a0}1/2", "miles"]);
        assert!(tokens.words(2).is_empty());
        assert_eq!(row(&references, tokens.spaced(2)), [""]);
        assert_eq!(row(&references, tokens.words(3)), ["a", "b"]);
        assert_eq!(row(&references, tokens.spaced(3)), ["a", "", "b"]);
    }

    #[test]
    fn many_chunks_give_the_same_ids_as_one() {
        let captions: Vec<String> = (0..3 * CHUNK).map(|i| format!("a w{} b", i % 1000)).collect();
        let captions: Vec<&str> = captions.iter().map(String::as_str).collect();
        let references = References::new(&captions, vec![0, captions.len()], Tokenization::None);
        assert_eq!(references.vocabulary().len(), 1002);
        assert_eq!(references.vocabulary().word(1), "w0");
        let word = format!("w{}", 2 * CHUNK % 1000);
        assert_eq!(row(&references, references.tokens().words(2 * CHUNK)), ["a", &word, "b"]);
    }

    #[test]
    fn words_are_numbered_in_their_order_on_any_number_of_threads() {
        // Latin words, some of them new in several chunks, other words, long words, and many words with a
        // common prefix.
        let alike = |i: usize| {
            let letter = |part: usize| char::from(b'a' + (part % 26) as u8);
            format!("beginnings{}{}{}", letter(i), letter(i / 26), letter(i / 676))
        };
        let caption = |i: usize| match i % 3 {
            0 => format!("a {} {}", "x".repeat(i % 29), ["b", "c", "d"][i / CHUNK % 3].repeat(i % 7)),
            1 => format!("the w{} a", i / 100),
            _ => format!("{} {} the", "long".repeat(4 + i % 11), alike(i)),
        };
        let captions: Vec<String> = (0..4 * CHUNK + 5).map(caption).collect();
        let captions: Vec<&str> = captions.iter().map(String::as_str).collect();
        let (words, others) = captions.split_at(captions.len() / 2);
        let tokenization =
            Tokenization::PennTreebank { options: capeval_ptb::Options::default(), alone: true };
        let mut numbers = std::collections::HashMap::new();
        let mut numbered = |captions: &[&str]| -> Vec<Vec<u32>> {
            let mut number = |word: &str| {
                let next = numbers.len() as u32;
                *numbers.entry(word.to_owned()).or_insert(next)
            };
            let words = |caption: &&str| {
                caption.split(' ').filter(|word| !word.is_empty()).map(&mut number).collect()
            };
            captions.iter().map(words).collect()
        };
        let expected = [numbered(words), numbered(others)];
        for threads in [1, 2, 5] {
            let threads = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let (references, candidates) = threads.install(|| {
                let references = References::new(words, vec![0, words.len()], tokenization);
                let candidates = Candidates::new(&references, others, vec![0; others.len()], tokenization);
                (references, candidates)
            });
            for (tokens, expected) in [references.tokens(), candidates.tokens()].into_iter().zip(&expected) {
                assert_eq!(tokens.len(), expected.len());
                (0..tokens.len()).for_each(|row| assert_eq!(tokens.words(row), expected[row]));
            }
            assert_eq!(candidates.word_count(), numbers_of(&expected));
        }
    }

    #[test]
    fn following_captions_are_passed_across_chunks() {
        // Before a capital, the period of an abbreviation becomes a separate token.
        let pattern = ["section B.", "A dog", "section B."];
        let captions: Vec<&str> = pattern.into_iter().cycle().take(3 * CHUNK + 1).collect();
        let options = capeval_ptb::Options { lowercase: true, punctuation: capeval_ptb::Punctuation::Keep };
        let tokenization = Tokenization::PennTreebank { options, alone: false };
        let threads = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let starts = vec![0, captions.len()];
        let references = threads.install(|| References::new(&captions, starts, tokenization));
        for row in 0..captions.len() - 1 {
            let expected = ["section b .", "a dog", "section b."][row % 3];
            assert_eq!(references.text(row), expected, "in row {row}");
        }
    }

    fn numbers_of(rows: &[Vec<Vec<u32>>]) -> usize {
        rows.iter().flatten().flatten().max().map_or(0, |most| *most as usize + 1)
    }

    #[test]
    fn rows_of_both_splits_keep_their_order_across_chunks() {
        let odd = [0, CHUNK - 1, CHUNK, CHUNK + 7, 3 * CHUNK - 1];
        let caption = |i: usize| if odd.contains(&i) { format!("{i}\u{a0}1/2 b") } else { format!("a {i}") };
        let captions: Vec<String> = (0..3 * CHUNK).map(caption).collect();
        let captions: Vec<&str> = captions.iter().map(String::as_str).collect();
        let references = References::new(&captions, vec![0, captions.len()], Tokenization::None);
        for (i, caption) in captions.iter().enumerate() {
            assert_eq!(references.text(i), *caption);
            let words: Vec<&str> = caption.split(['\u{a0}', ' ']).collect();
            assert_eq!(row(&references, references.tokens().words(i)), words);
        }
    }

    #[test]
    fn candidates_share_the_words_of_the_references() {
        let references = References::new(&["a dog"], vec![0, 1], Tokenization::None);
        let candidates = Candidates::new(&references, &["dog x y x"], vec![0], Tokenization::None);
        assert_eq!(candidates.tokens().words(0), [1, 2, 3, 2]);
        assert_eq!(candidates.word(1), "dog");
        assert_eq!(candidates.word(3), "y");
    }

    #[test]
    fn joined_references_equal_one_set() {
        let captions = ["a dog", "the dog", "a\u{a0}b  c", "a cat"];
        let whole = References::new(&captions, vec![0, 2, 2, 4], Tokenization::None);
        let parts = [(&captions[..2], vec![0, 2, 2]), (&captions[2..], vec![0, 2])];
        let parts = parts.map(|(captions, starts)| References::new(captions, starts, Tokenization::None));
        let joined = References::joined(&[&parts[0], &parts[1]]);
        assert_eq!(joined.starts, whole.starts);
        assert_eq!(
            joined.vocabulary.words().collect::<Vec<_>>(),
            whole.vocabulary.words().collect::<Vec<_>>()
        );
        for row in 0..captions.len() {
            assert_eq!(joined.tokens().words(row), whole.tokens().words(row));
            assert_eq!(joined.tokens().spaced(row), whole.tokens().spaced(row));
        }
    }

    #[test]
    fn words_with_the_same_replacement_merge() {
        let references = References::new(&["fishes swim"], vec![0, 1], Tokenization::None);
        let form = |word: &str| word.trim_end_matches("es").to_owned();
        let replaced = references.replaced(form);
        let candidates = Candidates::new(&references, &["fish swim far"], vec![0], Tokenization::None);
        let candidates = replaced.candidates(&candidates, form);
        assert_eq!(candidates.tokens().words(0), [0, 1, 2]);
    }
}
