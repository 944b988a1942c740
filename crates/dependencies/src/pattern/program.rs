//! Compilation of a parsed pattern into steps.

use super::error::PatternError;
use super::syntax::{self, Asks, Constraint, Link, NodePattern, Through};
use crate::label_tests::{LabelTests, TestId};

/// A node name in a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name(pub(super) u8);

/// A label test of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Check {
    pub test: TestId,
    pub negated: bool,
}

#[derive(Debug, Clone)]
pub(super) enum Condition {
    Label(Check),
    Named(u8),
    LabelOf { name: u8, on_category: bool },
}

/// A group of a label's regular expression that must be equal in all places with the same variable.
#[derive(Debug, Clone)]
pub(super) struct Group {
    pub test: TestId,
    pub group: usize,
    pub variable: u8,
}

#[derive(Debug, Clone)]
pub(super) enum Move {
    Plain(Link),
    DescendantThrough(Check),
    AncestorThrough(Check),
}

#[derive(Debug, Clone)]
pub(super) struct Walk {
    pub by: Move,
    pub from: u8,
    pub to: u8,
    pub condition: Condition,
    pub name: Option<u8>,
    pub groups: Vec<Group>,
}

/// One step. The steps up to the next `Found` are the body of a `Not` or `Optional`.
#[derive(Debug, Clone)]
pub(super) enum Step {
    /// Visits each candidate and continues with the next step.
    Walk(Walk),
    /// Continues at `end` if the body does not match.
    Not { end: usize },
    /// Continues at `end`, with the names of the body if it matches.
    Optional { end: usize, names: Vec<u8> },
    /// Continues at each of these steps.
    Choices(Vec<usize>),
    /// Continues at this step.
    Jump(usize),
    /// The end of a body.
    Found,
    /// The end of the pattern.
    Accept,
}

/// A compiled tree pattern.
#[derive(Debug, Clone)]
pub struct Pattern {
    pub(super) steps: Vec<Step>,
    pub(super) registers: usize,
    pub(super) variables: usize,
    names: Vec<String>,
    start: Option<TestId>,
    needed: Vec<TestId>,
    needed_children: Vec<TestId>,
}

impl Pattern {
    /// Parses and compiles a pattern, and adds its label tests to `tests`.
    pub fn compile(pattern: &str, tests: &mut LabelTests) -> Result<Self, PatternError> {
        let nodes = syntax::read(pattern)?;
        let mut compiler = Compiler {
            pattern,
            tests,
            steps: Vec::new(),
            registers: 1,
            names: Vec::new(),
            variables: Vec::new(),
        };
        compiler.whole(&nodes)?;
        let needs = compiler.needs(&nodes)?;
        let Compiler { steps, registers, names, variables, .. } = compiler;
        let (start, needed, needed_children) = needs;
        let variables = variables.len();
        Ok(Pattern { steps, registers, variables, names, start, needed, needed_children })
    }

    /// Returns the handle of a name, which identifies its node in a match.
    pub fn name(&self, name: &str) -> Option<Name> {
        self.names.iter().position(|n| n == name).map(|at| Name(at as u8))
    }

    /// Iterates over all names in the order of their handles.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    pub(super) fn name_count(&self) -> usize {
        self.names.len()
    }

    /// Returns a test that the first node of a match must pass.
    pub(crate) fn start_test(&self) -> Option<TestId> {
        self.start
    }

    /// Returns tests that must each pass for some node of the tree.
    pub(crate) fn needed_tests(&self) -> &[TestId] {
        &self.needed
    }

    /// Returns tests that must each pass for some child of the first node.
    pub(crate) fn needed_child_tests(&self) -> &[TestId] {
        &self.needed_children
    }
}

type Needs = (Option<TestId>, Vec<TestId>, Vec<TestId>);

struct Compiler<'a> {
    pattern: &'a str,
    tests: &'a mut LabelTests,
    steps: Vec<Step>,
    registers: usize,
    names: Vec<String>,
    variables: Vec<String>,
}

impl Compiler<'_> {
    fn whole(&mut self, nodes: &[NodePattern]) -> Result<(), PatternError> {
        self.choices(nodes, |compiler, node| compiler.node(Move::Plain(Link::Start), 0, node))?;
        self.steps.push(Step::Accept);
        Ok(())
    }

    /// Compiles alternative parts and joins their ends. A single part needs no choice.
    fn choices<T>(
        &mut self,
        parts: &[T],
        mut compile: impl FnMut(&mut Self, &T) -> Result<(), PatternError>,
    ) -> Result<(), PatternError> {
        if let [part] = parts {
            return compile(self, part);
        }
        let choices = self.steps.len();
        self.steps.push(Step::Found);
        let mut starts = Vec::new();
        let mut jumps = Vec::new();
        for part in parts {
            starts.push(self.steps.len());
            compile(self, part)?;
            jumps.push(self.steps.len());
            self.steps.push(Step::Found);
        }
        self.steps[choices] = Step::Choices(starts);
        let end = self.steps.len();
        jumps.into_iter().for_each(|jump| self.steps[jump] = Step::Jump(end));
        Ok(())
    }

    fn node(&mut self, by: Move, from: u8, node: &NodePattern) -> Result<(), PatternError> {
        let to = u8::try_from(self.registers).map_err(|_| self.error("more than 255 nodes"))?;
        self.registers += 1;
        let mut groups = Vec::new();
        let condition = match &node.asks {
            Asks::Label { description, on_category, negated, groups: named } => {
                let test = self.test(description, *on_category)?;
                for (group, variable) in named {
                    let variable = place(&mut self.variables, variable);
                    groups.push(Group { test, group: *group, variable });
                }
                Condition::Label(Check { test, negated: *negated })
            }
            Asks::Named(name) => Condition::Named(self.known_name(name)?),
            Asks::LabelOf { name, on_category } => {
                Condition::LabelOf { name: self.known_name(name)?, on_category: *on_category }
            }
        };
        let name = node.name.as_ref().map(|name| place(&mut self.names, name));
        self.steps.push(Step::Walk(Walk { by, from, to, condition, name, groups }));
        node.constraints.iter().try_for_each(|constraint| self.constraint(constraint, to))
    }

    fn constraint(&mut self, constraint: &Constraint, from: u8) -> Result<(), PatternError> {
        match constraint {
            Constraint::Relation(link, node) => {
                let by = self.movement(link)?;
                self.node(by, from, node)
            }
            Constraint::All(parts) => parts.iter().try_for_each(|part| self.constraint(part, from)),
            Constraint::Any(parts) => self.choices(parts, |compiler, part| compiler.constraint(part, from)),
            Constraint::Not(part) => {
                let (at, end, _) = self.inside(part, from)?;
                self.steps[at] = Step::Not { end };
                Ok(())
            }
            Constraint::Optional(part) => {
                let (at, end, names) = self.inside(part, from)?;
                self.steps[at] = Step::Optional { end, names };
                Ok(())
            }
        }
    }

    /// Compiles a body, preceded by a placeholder for the step that runs it.
    fn inside(&mut self, part: &Constraint, from: u8) -> Result<(usize, usize, Vec<u8>), PatternError> {
        let at = self.steps.len();
        self.steps.push(Step::Found);
        self.constraint(part, from)?;
        self.steps.push(Step::Found);
        let named = |step: &Step| if let Step::Walk(walk) = step { walk.name } else { None };
        let names = self.steps[at..].iter().filter_map(named).collect();
        Ok((at, self.steps.len(), names))
    }

    fn movement(&mut self, link: &Link) -> Result<Move, PatternError> {
        Ok(match link {
            Link::DescendantThrough(through) => Move::DescendantThrough(self.through(through)?),
            Link::AncestorThrough(through) => Move::AncestorThrough(self.through(through)?),
            link => Move::Plain(link.clone()),
        })
    }

    fn through(&mut self, through: &Through) -> Result<Check, PatternError> {
        let test = self.test(&through.description, through.on_category)?;
        Ok(Check { test, negated: through.negated })
    }

    fn test(&mut self, description: &str, on_category: bool) -> Result<TestId, PatternError> {
        self.tests.described(description, on_category).map_err(|problem| self.error(&problem))
    }

    fn known_name(&mut self, name: &str) -> Result<u8, PatternError> {
        match self.names.iter().position(|known| known == name) {
            Some(at) => Ok(at as u8),
            None => Err(self.error(&format!("the name {name:?} is used before its definition"))),
        }
    }

    fn error(&self, problem: &str) -> PatternError {
        PatternError { pattern: self.pattern.to_owned(), at: 0, problem: problem.to_owned() }
    }

    /// Returns the tests that are required for any match, that is, those outside of choices, `!` and `?`.
    fn needs(&mut self, nodes: &[NodePattern]) -> Result<Needs, PatternError> {
        let [node] = nodes else { return Ok((None, Vec::new(), Vec::new())) };
        let start = self.needed_label(node)?;
        let (mut all, mut children) = (start.into_iter().collect(), Vec::new());
        self.needs_of(node, true, &mut all, &mut children)?;
        Ok((start, all, children))
    }

    fn needs_of(
        &mut self,
        node: &NodePattern,
        at_start: bool,
        all: &mut Vec<TestId>,
        children: &mut Vec<TestId>,
    ) -> Result<(), PatternError> {
        let mut open: Vec<&Constraint> = node.constraints.iter().collect();
        while let Some(constraint) = open.pop() {
            match constraint {
                Constraint::All(parts) => open.extend(parts),
                Constraint::Relation(link, node) => {
                    if let Some(test) = self.needed_label(node)? {
                        all.push(test);
                        if at_start
                            && matches!(link, Link::Child | Link::ChildAt(_) | Link::OnlyChild | Link::Head)
                        {
                            children.push(test);
                        }
                    }
                    self.needs_of(node, at_start && *link == Link::Same, all, children)?;
                }
                Constraint::Any(_) | Constraint::Not(_) | Constraint::Optional(_) => {}
            }
        }
        Ok(())
    }

    fn needed_label(&mut self, node: &NodePattern) -> Result<Option<TestId>, PatternError> {
        match &node.asks {
            Asks::Label { description, on_category, negated: false, .. } => {
                self.test(description, *on_category).map(Some)
            }
            _ => Ok(None),
        }
    }
}

fn place(names: &mut Vec<String>, name: &str) -> u8 {
    let at = names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    });
    u8::try_from(at).expect("fewer names than nodes")
}
