//! Evaluates static initializers and constructors as far as rules and lists need it.
//!
//! Nothing is guessed. Code of classes outside `opened` is not run: the call is recorded with its arguments.
//! Anything that depends on its result (a branch, a dropped result) is an error.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use crate::bytes::Bytes;
use crate::class::{Class, Member, Method};
use crate::frame::{Frame, constant_value};
use crate::instruction as code;
use crate::library;
use crate::value::{Call, Content, Value};
use crate::{Error, Jar};

/// How an evaluation ended.
#[derive(Debug)]
pub(crate) enum End {
    Return(Option<Value>),
    /// At a branch that depends on a recorded call, or at a backward jump.
    Branch,
}

/// Limit on evaluated instructions. List initializers have no long loops.
const MOST_INSTRUCTIONS: usize = 5_000_000;

pub(crate) struct Evaluator {
    jars: Vec<Jar>,
    classes: HashMap<String, Option<Rc<Class>>>,
    opened: HashSet<String>,
    statics: HashMap<(String, String), Value>,
    initialized: HashSet<String>,
    /// Calls on recorded objects during the trace of a generated lexer's action.
    trace: Option<Vec<Call>>,
    instructions: usize,
}

impl Evaluator {
    /// Creates an evaluator that runs only the static code of the `opened` classes.
    pub fn new(jars: Vec<Jar>, opened: &[&str]) -> Self {
        Self {
            jars,
            classes: HashMap::new(),
            opened: opened.iter().map(|&name| name.to_owned()).collect(),
            statics: HashMap::new(),
            initialized: HashSet::new(),
            trace: None,
            instructions: 0,
        }
    }

    pub fn class(&mut self, name: &str) -> Result<Rc<Class>, Error> {
        self.find_class(name)?.ok_or_else(|| Error::MissingClass(name.to_owned()))
    }

    fn find_class(&mut self, name: &str) -> Result<Option<Rc<Class>>, Error> {
        if !self.classes.contains_key(name) {
            let mut found = None;
            for jar in &mut self.jars {
                if found.is_none() {
                    found = jar.class(name)?.map(Rc::new);
                }
            }
            self.classes.insert(name.to_owned(), found);
        }
        Ok(self.classes[name].clone())
    }

    /// Returns the value of a static field, after initializing its class.
    pub fn static_field(&mut self, class_name: &str, field: &str) -> Result<Value, Error> {
        self.initialize(class_name)?;
        let value = self.statics.get(&(class_name.to_owned(), field.to_owned())).cloned();
        value.ok_or_else(|| Error::Format {
            class: class_name.to_owned(),
            problem: format!("no static field {field}"),
        })
    }

    /// Returns a field of an object from `construct`.
    pub fn field(object: &Value, field: &str) -> Result<Value, Error> {
        if let Value::Object(target) = object
            && let Content::Fields(fields) = &*target.content.borrow()
            && let Some((_, value)) = fields.iter().find(|(name, _)| name == field)
        {
            return Ok(value.clone());
        }
        Err(object.shape(field, "an object with this field"))
    }

    /// Creates an object by running its constructor and those of its superclasses.
    pub fn construct(&mut self, class: &str, descriptor: &str, arguments: &[Value]) -> Result<Value, Error> {
        let object = Value::object(class, Content::Fields(Vec::new()));
        let mut locals = vec![object.clone()];
        locals.extend_from_slice(arguments);
        self.run(class, "<init>", descriptor, locals)?;
        Ok(object)
    }

    /// Runs the longest constructor of a class up to the first unsupported instruction.
    ///
    /// The named fields must be set by then.
    pub fn run_constructors(&mut self, object: &Value, fields: &[&str]) -> Result<(), Error> {
        let Value::Object(target) = object else {
            return Err(object.shape("an object", "an object"));
        };
        let class = self.class(&target.class)?;
        let longest = class.methods.iter().filter(|method| method.name == "<init>");
        let longest = longest.max_by_key(|method| method.code.len());
        let longest = longest.ok_or_else(|| Error::MissingClass(format!("{}.<init>", class.name)))?;
        let mut locals = vec![object.clone()];
        locals.resize(longest.locals, Value::Null);
        match self.run(&class.name, "<init>", &longest.descriptor, locals) {
            Err(error @ Error::Unknown { .. }) => {
                let is_set = fields.iter().all(|field| Self::field(object, field).is_ok());
                if is_set { Ok(()) } else { Err(error) }
            }
            other => other.map(|_| ()),
        }
    }

    /// Runs the instructions from `start` on an unknown object. Returns the calls, and how the run ended.
    pub fn trace(
        &mut self,
        class: &Rc<Class>,
        method: &Method,
        start: usize,
    ) -> Result<(Vec<Call>, End), Error> {
        let mut frame = Frame {
            class: Rc::clone(class),
            method: method.name.clone(),
            locals: vec![Value::Null; method.locals],
            stack: Vec::new(),
            position: start,
        };
        frame.locals[0] = Value::call(&class.name, "this", Vec::new());
        self.trace = Some(Vec::new());
        let end = self.execute(&mut frame, method, start);
        let calls = self.trace.take().unwrap_or_default();
        Ok((calls, end?))
    }

    fn initialize(&mut self, name: &str) -> Result<(), Error> {
        if !self.initialized.insert(name.to_owned()) {
            return Ok(());
        }
        let class = self.class(name)?;
        for (field, &index) in &class.constant_fields {
            let value = constant_value(&class, index)?;
            self.statics.insert((name.to_owned(), field.clone()), value);
        }
        if class.method("<clinit>", "()V").is_some() {
            self.run(name, "<clinit>", "()V", Vec::new())?;
        }
        Ok(())
    }

    /// Runs a method of a class or of its nearest superclass that has it.
    fn run(
        &mut self,
        class: &str,
        name: &str,
        descriptor: &str,
        locals: Vec<Value>,
    ) -> Result<Option<Value>, Error> {
        let mut owner = self.class(class)?;
        while owner.method(name, descriptor).is_none() {
            let parent = owner.parent.clone();
            let parent = parent.ok_or_else(|| Error::MissingClass(format!("{class}.{name}{descriptor}")))?;
            owner = self.class(&parent)?;
        }
        let Some(method) = owner.method(name, descriptor) else {
            return Err(Error::MissingClass(format!("{class}.{name}{descriptor}")));
        };
        let mut frame = Frame {
            class: Rc::clone(&owner),
            method: name.to_owned(),
            locals,
            stack: Vec::new(),
            position: 0,
        };
        frame.locals.resize(method.locals.max(frame.locals.len()), Value::Null);
        match self.execute(&mut frame, method, 0)? {
            End::Return(value) => Ok(value),
            End::Branch => Err(frame.unknown("the branch depends on code that is not run")),
        }
    }

    fn execute(&mut self, frame: &mut Frame, method: &Method, start: usize) -> Result<End, Error> {
        let mut bytes = Bytes::at(&method.code, start);
        loop {
            self.instructions += 1;
            if self.instructions > MOST_INSTRUCTIONS {
                return Err(frame.unknown("the initializer runs too many instructions"));
            }
            frame.position = bytes.position();
            let instruction = bytes.u8()?;
            match instruction {
                code::IFEQ..=code::GOTO | code::IFNULL | code::IFNONNULL => {
                    let offset = bytes.i16()?;
                    let target = frame.position.checked_add_signed(isize::from(offset));
                    let target = target.ok_or_else(|| frame.unknown("a jump out of the method"))?;
                    match frame.is_taken(instruction)? {
                        None => return Ok(End::Branch),
                        // During a trace, a backward jump continues with the next token.
                        Some(true) if self.trace.is_some() && offset < 0 => return Ok(End::Branch),
                        Some(true) => bytes.set_position(target),
                        Some(false) => {}
                    }
                }
                code::IRETURN | code::ARETURN => return Ok(End::Return(Some(frame.pop()?))),
                code::RETURN => return Ok(End::Return(None)),
                code::GETSTATIC..=code::INVOKEDYNAMIC => {
                    self.member_instruction(frame, instruction, &mut bytes)?
                }
                _ => frame.plain_instruction(instruction, &mut bytes)?,
            }
        }
    }

    fn member_instruction(
        &mut self,
        frame: &mut Frame,
        instruction: u8,
        bytes: &mut Bytes<'_>,
    ) -> Result<(), Error> {
        let member = frame.class.member(bytes.u16()?)?;
        match instruction {
            code::GETSTATIC => {
                let value = self.get_static(&member)?;
                frame.stack.push(value);
            }
            code::PUTSTATIC => {
                let value = frame.pop()?;
                self.statics.insert((member.class, member.name), value);
            }
            code::GETFIELD => {
                let object = frame.pop()?;
                frame.stack.push(get_field(&object, &member, frame)?);
            }
            code::PUTFIELD => {
                let (value, object) = (frame.pop()?, frame.pop()?);
                self.put_field(&object, &member, value, frame)?;
            }
            _ => {
                if instruction >= code::INVOKEINTERFACE {
                    bytes.u16()?;
                }
                self.invoke(frame, instruction, &member)?;
            }
        }
        Ok(())
    }

    fn get_static(&mut self, member: &Member) -> Result<Value, Error> {
        if self.opened.contains(&member.class) {
            return self.static_field(&member.class, &member.name);
        }
        if let Some(value) = self.statics.get(&(member.class.clone(), member.name.clone())) {
            return Ok(value.clone());
        }
        Ok(Value::call(&member.class, &member.name, Vec::new()))
    }

    fn put_field(
        &mut self,
        object: &Value,
        member: &Member,
        value: Value,
        frame: &Frame,
    ) -> Result<(), Error> {
        match (object, &mut self.trace) {
            (Value::Object(target), _) => {
                if let Content::Fields(fields) = &mut *target.content.borrow_mut() {
                    match fields.iter_mut().find(|(name, _)| *name == member.name) {
                        Some((_, place)) => *place = value,
                        None => fields.push((member.name.clone(), value)),
                    }
                    return Ok(());
                }
                Err(frame.unknown(&format!("field {} of {} is set", member.name, object.short())))
            }
            (Value::Call(_), Some(calls)) => {
                calls.push(Call {
                    class: member.class.clone(),
                    name: member.name.clone(),
                    arguments: vec![value],
                });
                Ok(())
            }
            _ => Err(frame.unknown(&format!("field {} of {} is set", member.name, object.short()))),
        }
    }

    fn invoke(&mut self, frame: &mut Frame, instruction: u8, member: &Member) -> Result<(), Error> {
        let (count, has_result) = signature(&member.descriptor);
        let first = frame.stack.len().checked_sub(count);
        let first = first.ok_or_else(|| frame.unknown("too few values on the stack"))?;
        let arguments = frame.stack.split_off(first);
        let receiver = if instruction == code::INVOKESTATIC || instruction == code::INVOKEDYNAMIC {
            None
        } else {
            Some(frame.pop()?)
        };
        let result = self.call(frame, instruction, member, receiver, arguments)?;
        match (has_result, result) {
            (true, Some(value)) => frame.stack.push(value),
            (false, None) => {}
            (true, None) => {
                return Err(frame.unknown(&format!("{}.{} returned no result", member.class, member.name)));
            }
            (false, Some(_)) => {
                return Err(frame.unknown(&format!("{}.{} is not supported", member.class, member.name)));
            }
        }
        Ok(())
    }

    fn call(
        &mut self,
        frame: &Frame,
        instruction: u8,
        member: &Member,
        receiver: Option<Value>,
        arguments: Vec<Value>,
    ) -> Result<Option<Value>, Error> {
        match receiver {
            None if instruction == code::INVOKESTATIC && self.opened.contains(&member.class) => {
                self.run(&member.class, &member.name, &member.descriptor, arguments)
            }
            None => {
                let known =
                    library::static_call(member, &arguments).map_err(|problem| frame.unknown(&problem))?;
                match known {
                    Some(outcome) => Ok(outcome.value()),
                    None => Ok(Some(Value::call(&member.class, &member.name, arguments))),
                }
            }
            Some(Value::Object(object)) if member.name == "<init>" && object.is_allocated() => {
                library::construct(&object, arguments).map_err(|problem| frame.unknown(&problem))?;
                Ok(None)
            }
            Some(receiver) if library::has_fields(&receiver) => {
                self.call_own(instruction, member, receiver, arguments)
            }
            Some(receiver) => self.call_on_value(frame, member, receiver, arguments),
        }
    }

    /// Interprets the bytecode of an object's method.
    fn call_own(
        &mut self,
        instruction: u8,
        member: &Member,
        receiver: Value,
        arguments: Vec<Value>,
    ) -> Result<Option<Value>, Error> {
        if member.class == "java/lang/Object" && member.name == "<init>" {
            return Ok(None);
        }
        let class = match &receiver {
            Value::Object(object) if instruction != code::INVOKESPECIAL => object.class.clone(),
            _ => member.class.clone(),
        };
        let mut locals = vec![receiver];
        locals.extend(arguments);
        self.run(&class, &member.name, &member.descriptor, locals)
    }

    fn call_on_value(
        &mut self,
        frame: &Frame,
        member: &Member,
        receiver: Value,
        arguments: Vec<Value>,
    ) -> Result<Option<Value>, Error> {
        let known =
            library::call(member, &receiver, &arguments).map_err(|problem| frame.unknown(&problem))?;
        if let Some(outcome) = known {
            return Ok(outcome.value());
        }
        let (_, has_result) = signature(&member.descriptor);
        let mut all = vec![receiver];
        all.extend(arguments);
        let is_traced = self.trace.is_some();
        if let Some(calls) = &mut self.trace {
            let arguments = all[1..].to_vec();
            calls.push(Call { class: member.class.clone(), name: member.name.clone(), arguments });
        }
        match (has_result, is_traced) {
            (true, _) => Ok(Some(Value::call(&member.class, &member.name, all))),
            (false, true) => Ok(None),
            (false, false) => {
                Err(frame.unknown(&format!("{}.{} is not supported", member.class, member.name)))
            }
        }
    }
}

fn get_field(object: &Value, member: &Member, frame: &Frame) -> Result<Value, Error> {
    match object {
        Value::Object(target) => {
            if let Content::Fields(fields) = &*target.content.borrow() {
                let found = fields.iter().find(|(name, _)| *name == member.name);
                let unset = if member.descriptor.len() == 1 { Value::Int(0) } else { Value::Null };
                return Ok(found.map_or(unset, |(_, value)| value.clone()));
            }
            Err(frame.unknown(&format!("field {} of {} is read", member.name, object.short())))
        }
        Value::Call(_) => Ok(Value::call(&member.class, &member.name, vec![object.clone()])),
        _ => Err(frame.unknown(&format!("field {} of {} is read", member.name, object.short()))),
    }
}

/// Returns the number of arguments of a method, and whether it returns a value.
fn signature(descriptor: &str) -> (usize, bool) {
    let (inside, result) = descriptor.trim_start_matches('(').split_once(')').unwrap_or(("", "V"));
    let (mut count, mut in_name) = (0, false);
    for character in inside.chars() {
        match character {
            ';' => {
                in_name = false;
                count += 1;
            }
            _ if in_name => {}
            'L' => in_name = true,
            '[' => {}
            _ => count += 1,
        }
    }
    (count, result != "V")
}

#[cfg(test)]
#[path = "evaluate_tests.rs"]
mod tests;
