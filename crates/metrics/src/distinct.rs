//! The distinct words of a caption.

/// Maximum number of slots of the initial table.
const PLACES: usize = 1 << 16;

/// The distinct words of a caption, numbered from 0 in order of first appearance.
///
/// Reusable for one caption after another.
///
/// The words of other captions are looked up in the table, and most are not found. Nearly every word has its
/// own slot, because only the words of large vocabularies share slots.
pub(crate) struct DistinctWords {
    /// A word with its number plus 1, in its slot or the next free one. 0 marks a free slot.
    table: Vec<(u32, u32)>,
    /// The used slots.
    taken: Vec<u32>,
    numbers: Vec<u32>,
}

impl DistinctWords {
    /// Creates a table for a vocabulary of this size. Larger word ids work too, but are slower.
    pub fn new(vocabulary: usize) -> Self {
        let places = vocabulary.next_power_of_two().min(PLACES);
        Self { table: vec![(0, 0); places], taken: Vec::new(), numbers: Vec::new() }
    }

    /// Numbers the words of `caption`, replacing the previous caption.
    pub fn fill(&mut self, caption: &[u32]) {
        self.taken.drain(..).for_each(|place| self.table[place as usize] = (0, 0));
        self.numbers.clear();
        if self.table.len() < 2 * caption.len() {
            self.table.resize((2 * caption.len()).next_power_of_two(), (0, 0));
        }
        for &word in caption {
            let place = self.place(word);
            let (known, number) = &mut self.table[place];
            if *number == 0 {
                self.taken.push(place as u32);
                (*known, *number) = (word, self.taken.len() as u32);
            }
            self.numbers.push(*number - 1);
        }
    }

    /// Returns the number of distinct words.
    pub fn len(&self) -> usize {
        self.taken.len()
    }

    /// Returns the numbers of all words in the caption.
    pub fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    /// Returns the number of a word, if the caption contains it.
    pub fn number(&self, word: u32) -> Option<u32> {
        self.table[self.place(word)].1.checked_sub(1)
    }

    /// Returns the slot of a word, or the free slot where it would be inserted.
    fn place(&self, word: u32) -> usize {
        let last = self.table.len() - 1;
        let mut place = word as usize & last;
        while self.table[place].1 != 0 && self.table[place].0 != word {
            place = (place + 1) & last;
        }
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_numbered_as_they_come() {
        let long: Vec<u32> = (0..3000).map(|word| word * word % 1009).collect();
        let alike: Vec<u32> = (0..300).map(|word| (word % 200) << 16).collect();
        let captions = [&[7, 9, 7, u32::MAX - 1, 0, 9][..], &[], &alike, &long, &[0], &alike, &[7]];
        for vocabulary in [0, 1, 1000, 1 << 20] {
            let mut words = DistinctWords::new(vocabulary);
            captions.iter().for_each(|caption| check(&mut words, caption));
        }
    }

    fn check(words: &mut DistinctWords, caption: &[u32]) {
        words.fill(caption);
        let mut distinct: Vec<u32> = Vec::new();
        for (&word, &number) in caption.iter().zip(words.numbers()) {
            if !distinct.contains(&word) {
                distinct.push(word);
            }
            assert_eq!(distinct[number as usize], word);
        }
        assert_eq!(words.len(), distinct.len());
        for word in (0..1100).chain([u32::MAX - 1]) {
            let number = distinct.iter().position(|&each| each == word).map(|number| number as u32);
            assert_eq!(words.number(word), number);
        }
    }
}
