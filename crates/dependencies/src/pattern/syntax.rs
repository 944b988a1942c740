//! Parsing of a pattern's text.

use super::error::PatternError;

/// The relation of a candidate to another node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Link {
    /// The node itself, only at the start of a pattern.
    Start,
    /// `==`
    Same,
    /// `:`, all nodes of the tree.
    Anywhere,
    /// `<`
    Child,
    /// `<3`, `<,`, `<-`, `<-2`
    ChildAt(i32),
    /// `<:`
    OnlyChild,
    /// `<=`, the node itself or a child.
    SelfOrChild,
    /// `>`
    Parent,
    /// `>3`, `>,`, `>-`
    ParentAt(i32),
    /// `>:`
    OnlyChildOf,
    /// `<<`
    Descendant,
    /// `>>`
    Ancestor,
    /// `<<,`
    LeftEdge,
    /// `<<-`
    RightEdge,
    /// `>>,`
    LeftEdgeOf,
    /// `>>-`
    RightEdgeOf,
    /// `<<:`
    UnaryPath,
    /// `>>:`
    UnaryPathOf,
    /// `$`
    Sister,
    /// `$++`, sisters to the right, starting with the last.
    SisterRight,
    /// `$--`, sisters to the left, starting with the first.
    SisterLeft,
    /// `$+`
    NextSister,
    /// `$-`
    PreviousSister,
    /// `..`
    Before,
    /// `.`
    JustBefore,
    /// `,,`
    After,
    /// `,`
    JustAfter,
    /// `<#`
    Head,
    /// `>#`
    HeadOf,
    /// `<<#`
    HeadPath,
    /// `>>#`
    HeadPathOf,
    /// `<+(VP)`
    DescendantThrough(Through),
    /// `>+(VP)`
    AncestorThrough(Through),
}

/// The required label of the nodes on a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Through {
    pub description: String,
    pub on_category: bool,
    pub negated: bool,
}

/// A condition of a pattern node on the candidate itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Asks {
    /// The candidate has a matching label.
    Label { description: String, on_category: bool, negated: bool, groups: Vec<(usize, String)> },
    /// The candidate is the node with that name.
    Named(String),
    /// The candidate has the label of the node with that name.
    LabelOf { name: String, on_category: bool },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NodePattern {
    pub asks: Asks,
    pub name: Option<String>,
    pub constraints: Vec<Constraint>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Constraint {
    Relation(Link, NodePattern),
    All(Vec<Constraint>),
    Any(Vec<Constraint>),
    Not(Box<Constraint>),
    Optional(Box<Constraint>),
}

/// The first matching symbol is used, so longer ones come first.
const RELATIONS: [(&str, Link); 43] = [
    ("<<,", Link::LeftEdge),
    ("<<-", Link::RightEdge),
    ("<<`", Link::RightEdge),
    ("<<#", Link::HeadPath),
    ("<<:", Link::UnaryPath),
    (">>,", Link::LeftEdgeOf),
    (">>-", Link::RightEdgeOf),
    (">>`", Link::RightEdgeOf),
    (">>#", Link::HeadPathOf),
    (">>:", Link::UnaryPathOf),
    ("$++", Link::SisterRight),
    ("$--", Link::SisterLeft),
    ("$..", Link::SisterRight),
    ("$,,", Link::SisterLeft),
    ("<<", Link::Descendant),
    (">>", Link::Ancestor),
    ("<,", Link::ChildAt(1)),
    ("<-", Link::ChildAt(-1)),
    ("<`", Link::ChildAt(-1)),
    ("<#", Link::Head),
    ("<:", Link::OnlyChild),
    ("<=", Link::SelfOrChild),
    (">,", Link::ParentAt(1)),
    (">-", Link::ParentAt(-1)),
    (">`", Link::ParentAt(-1)),
    (">#", Link::HeadOf),
    (">:", Link::OnlyChildOf),
    ("$+", Link::NextSister),
    ("$-", Link::PreviousSister),
    ("$.", Link::NextSister),
    ("$,", Link::PreviousSister),
    ("==", Link::Same),
    ("..", Link::Before),
    (",,", Link::After),
    ("<+", Link::Start),
    (">+", Link::Start),
    ("<", Link::Child),
    (">", Link::Parent),
    ("$", Link::Sister),
    (".", Link::JustBefore),
    (",", Link::JustAfter),
    (":", Link::Anywhere),
    ("", Link::Start),
];

/// Parses a whole pattern: one node, or several separated by vertical bars.
pub(super) fn read(pattern: &str) -> Result<Vec<NodePattern>, PatternError> {
    let mut reader = Reader { pattern, at: 0 };
    let mut nodes = vec![reader.node_with_constraints()?];
    while reader.take('|') {
        nodes.push(reader.node_with_constraints()?);
    }
    reader.skip_blanks();
    if reader.at < pattern.len() {
        return Err(reader.error("expected a relation or the end"));
    }
    Ok(nodes)
}

struct Reader<'a> {
    pattern: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.pattern[self.at..]
    }

    fn skip_blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn peek(&mut self) -> Option<char> {
        self.skip_blanks();
        self.rest().chars().next()
    }

    fn take(&mut self, symbol: char) -> bool {
        let found = self.peek() == Some(symbol);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, symbol: char) -> Result<(), PatternError> {
        if self.take(symbol) { Ok(()) } else { Err(self.error(&format!("expected {symbol:?}"))) }
    }

    fn error(&self, problem: &str) -> PatternError {
        PatternError { pattern: self.pattern.to_owned(), at: self.at, problem: problem.to_owned() }
    }

    /// Parses a node and all following relations.
    fn node_with_constraints(&mut self) -> Result<NodePattern, PatternError> {
        let mut node = if self.take('(') {
            let node = self.node_with_constraints()?;
            self.expect(')')?;
            node
        } else {
            self.bare_node()?
        };
        if self.constraint_follows() {
            let constraint = self.any()?;
            node.constraints.push(constraint);
        }
        Ok(node)
    }

    /// Parses a node as the object of a relation. It has relations of its own only in parentheses.
    fn object(&mut self) -> Result<NodePattern, PatternError> {
        if !self.take('(') {
            return self.bare_node();
        }
        let node = self.node_with_constraints()?;
        self.expect(')')?;
        Ok(node)
    }

    fn bare_node(&mut self) -> Result<NodePattern, PatternError> {
        let negated = self.take('!');
        let on_category = self.take('@');
        if self.take('~') {
            let asks = Asks::LabelOf { name: self.identifier()?, on_category };
            return Ok(NodePattern { asks, name: self.name()?, constraints: Vec::new() });
        }
        if self.take('=') {
            let asks = Asks::Named(self.identifier()?);
            return Ok(NodePattern { asks, name: None, constraints: Vec::new() });
        }
        let description = self.description()?;
        let mut groups = Vec::new();
        while self.rest().starts_with('#') {
            self.at += 1;
            let group = self.number().ok_or_else(|| self.error("expected the number of a group"))?;
            self.expect('%')?;
            groups.push((group as usize, self.identifier()?));
        }
        let asks = Asks::Label { description, on_category, negated, groups };
        Ok(NodePattern { asks, name: self.name()?, constraints: Vec::new() })
    }

    fn name(&mut self) -> Result<Option<String>, PatternError> {
        if self.rest().starts_with('=') && !self.rest().starts_with("==") {
            self.at += 1;
            return self.identifier().map(Some);
        }
        Ok(None)
    }

    fn description(&mut self) -> Result<String, PatternError> {
        match self.peek() {
            Some('/') => self.expression(),
            _ if self.rest().starts_with("__") => {
                self.at += 2;
                Ok("__".to_owned())
            }
            _ => self.identifier(),
        }
    }

    fn expression(&mut self) -> Result<String, PatternError> {
        let rest = self.rest();
        let mut escaped = false;
        for (at, c) in rest.char_indices().skip(1) {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '/' => {
                    self.at += at + 1;
                    return Ok(rest[..=at].to_owned());
                }
                _ => {}
            }
        }
        Err(self.error("the regular expression is not terminated"))
    }

    fn identifier(&mut self) -> Result<String, PatternError> {
        self.skip_blanks();
        let rest = self.rest();
        let end = rest
            .find(|c: char| c.is_whitespace() || "()[]{}=!@#%&~?<>$/;:,.".contains(c))
            .unwrap_or(rest.len());
        if end == 0 {
            return Err(self.error("expected a label or a name"));
        }
        self.at += end;
        Ok(rest[..end].to_owned())
    }

    fn number(&mut self) -> Option<i32> {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let number = rest[..end].parse().ok().filter(|&n| n > 0)?;
        self.at += end;
        Some(number)
    }

    fn constraint_follows(&mut self) -> bool {
        matches!(self.peek(), Some('!' | '?' | '(' | '[' | '<' | '>' | '$' | '.' | ',' | ':'))
            || self.rest().starts_with("==")
    }

    /// Parses alternative constraints, separated by vertical bars.
    fn any(&mut self) -> Result<Constraint, PatternError> {
        let mut choices = vec![self.all()?];
        while self.take('|') {
            choices.push(self.all()?);
        }
        Ok(if choices.len() == 1 { choices.remove(0) } else { Constraint::Any(choices) })
    }

    /// Parses adjacent constraints, which must all hold.
    fn all(&mut self) -> Result<Constraint, PatternError> {
        let mut parts = vec![self.constraint()?];
        while self.take('&') || self.constraint_follows() {
            parts.push(self.constraint()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Constraint::All(parts) })
    }

    fn constraint(&mut self) -> Result<Constraint, PatternError> {
        match self.peek() {
            Some('!') => {
                self.at += 1;
                Ok(Constraint::Not(Box::new(self.constraint()?)))
            }
            Some('?') => {
                self.at += 1;
                Ok(Constraint::Optional(Box::new(self.constraint()?)))
            }
            Some('[') => {
                self.at += 1;
                let inner = self.any()?;
                self.expect(']')?;
                Ok(inner)
            }
            Some('(') => {
                self.at += 1;
                let inner = self.any()?;
                self.expect(')')?;
                Ok(inner)
            }
            _ => {
                let link = self.link()?;
                Ok(Constraint::Relation(link, self.object()?))
            }
        }
    }

    fn link(&mut self) -> Result<Link, PatternError> {
        self.skip_blanks();
        let rest = self.rest();
        let (symbol, link) = RELATIONS.iter().find(|(s, _)| rest.starts_with(s)).expect("\"\" always fits");
        if symbol.is_empty() {
            return Err(self.error("expected a relation"));
        }
        self.at += symbol.len();
        match *symbol {
            "<" => Ok(self.number().map_or(Link::Child, Link::ChildAt)),
            "<-" => Ok(Link::ChildAt(-self.number().unwrap_or(1))),
            ">" => Ok(self.number().map_or(Link::Parent, Link::ParentAt)),
            ">-" => Ok(Link::ParentAt(-self.number().unwrap_or(1))),
            "<+" => self.through().map(Link::DescendantThrough),
            ">+" => self.through().map(Link::AncestorThrough),
            _ => Ok(link.clone()),
        }
    }

    fn through(&mut self) -> Result<Through, PatternError> {
        self.expect('(')?;
        let negated = self.take('!');
        let on_category = self.take('@');
        let description = self.description()?;
        self.expect(')')?;
        Ok(Through { description, on_category, negated })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(pattern: &str) -> Vec<Link> {
        fn collect(constraints: &[Constraint], found: &mut Vec<Link>) {
            for constraint in constraints {
                match constraint {
                    Constraint::Relation(link, node) => {
                        found.push(link.clone());
                        collect(&node.constraints, found);
                    }
                    Constraint::All(parts) | Constraint::Any(parts) => collect(parts, found),
                    Constraint::Not(part) | Constraint::Optional(part) => {
                        collect(std::slice::from_ref(part), found);
                    }
                }
            }
        }
        let mut found = Vec::new();
        collect(&read(pattern).unwrap()[0].constraints, &mut found);
        found
    }

    #[test]
    fn the_longest_symbol_wins() {
        use Link::*;
        assert_eq!(
            links("A < B <1 C <-1 D <- E <, F"),
            [Child, ChildAt(1), ChildAt(-1), ChildAt(-1), ChildAt(1)]
        );
        assert_eq!(links("A <# B <<# C >># D <: E"), [Head, HeadPath, HeadPathOf, OnlyChild]);
        assert_eq!(
            links("A $ B $+ C $++D $-- E $- F"),
            [Sister, NextSister, SisterRight, SisterLeft, PreviousSister]
        );
        assert_eq!(links("A=x !== =x ==B|C : (=x > D)"), [Same, Same, Anywhere, Parent]);
    }

    #[test]
    fn bars_have_lower_precedence() {
        let node = read("A < B < C | < D").unwrap().remove(0);
        let Constraint::Any(choices) = &node.constraints[0] else { panic!("{node:?}") };
        assert!(matches!(&choices[0], Constraint::All(parts) if parts.len() == 2));
        assert!(matches!(&choices[1], Constraint::Relation(Link::Child, _)));
    }

    #[test]
    fn relations_may_follow_a_node_in_brackets() {
        let node = read("A < ((B|C=x !< D) $++ E)").unwrap().remove(0);
        let Constraint::Relation(Link::Child, inner) = &node.constraints[0] else { panic!("{node:?}") };
        assert_eq!(inner.name.as_deref(), Some("x"));
        assert_eq!(inner.constraints.len(), 2);
    }

    #[test]
    fn errors_have_positions() {
        for (pattern, at) in [("A <", 3), ("A < (B", 6), ("A ] B", 2), ("/ab", 0), ("A <+ B", 5), ("", 0)] {
            assert_eq!(read(pattern).unwrap_err().at, at, "{pattern}");
        }
    }
}
