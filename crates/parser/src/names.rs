//! Labels of tree nodes, from the names of states.

/// The labels of a tree node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Names {
    /// Label as a phrase, or `None` if the node was created by binarization and is removed.
    pub(crate) phrase: Option<u16>,
    pub(crate) tag: u16,
}

/// Returns the labels of nodes by new state, and all labels.
pub(crate) fn name_states(states: &[String], new_state: &[u16]) -> (Vec<Names>, Vec<String>) {
    let mut labels: Vec<String> = Vec::new();
    let mut number = |label: String| {
        let known = labels.iter().position(|other| *other == label);
        known.unwrap_or_else(|| {
            labels.push(label);
            labels.len() - 1
        }) as u16
    };
    let mut names = vec![Names { phrase: None, tag: 0 }; states.len()];
    for (old, state) in states.iter().enumerate() {
        let category = basic_category(state).to_owned();
        let time = if state.contains("-TMP") { "-TMP" } else { "" };
        let phrase = (!state.contains('@')).then(|| number(format!("{category}{time}")));
        let tag = if state.contains('@') { 0 } else { number(category) };
        names[usize::from(new_state[old])] = Names { phrase, tag };
    }
    (names, labels)
}

/// Returns a state's name up to the first annotation mark.
///
/// A mark at the start protects the text up to the same mark (`-LRB-`).
fn basic_category(state: &str) -> &str {
    const MARKS: [char; 8] = ['-', '=', '|', '#', '^', '~', '_', '['];
    let mut at_start = None;
    for (place, mark) in state.char_indices().filter(|(_, letter)| MARKS.contains(letter)) {
        if place == 0 {
            at_start = Some(mark);
        } else if at_start == Some(mark) && place > 1 {
            at_start = None;
        } else {
            return &state[..place];
        }
    }
    state
}

#[cfg(test)]
mod tests {
    use super::basic_category;

    #[test]
    fn annotations_are_removed_and_brackets_kept() {
        let cases = [("NP", "NP"), ("NP^S-v", "NP"), ("-LRB-", "-LRB-"), ("-LRB-^PRN", "-LRB-"), ("$", "$")];
        for (state, category) in cases {
            assert_eq!(basic_category(state), category, "{state}");
        }
    }
}
