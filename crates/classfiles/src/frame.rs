//! Local variables and stack of a running method, and the instructions that need only these.

use std::rc::Rc;

use crate::Error;
use crate::bytes::Bytes;
use crate::class::{Class, Constant};
use crate::instruction as code;
use crate::value::{Content, Value};

/// State of a running method.
pub(crate) struct Frame {
    pub class: Rc<Class>,
    pub method: String,
    pub locals: Vec<Value>,
    pub stack: Vec<Value>,
    /// Start of the current instruction.
    pub position: usize,
}

impl Frame {
    pub fn unknown(&self, problem: &str) -> Error {
        Error::Unknown {
            class: self.class.name.clone(),
            method: self.method.clone(),
            position: self.position,
            problem: problem.to_owned(),
        }
    }

    pub fn pop(&mut self) -> Result<Value, Error> {
        self.stack.pop().ok_or_else(|| self.unknown("too few values on the stack"))
    }

    fn pop_int(&mut self) -> Result<i32, Error> {
        let value = self.pop()?;
        match value {
            Value::Int(number) => Ok(number),
            other => Err(self.unknown(&format!("expected a number, found {}", other.short()))),
        }
    }

    fn local(&mut self, index: usize) -> Result<&mut Value, Error> {
        let error = self.unknown("no such local variable");
        self.locals.get_mut(index).ok_or(error)
    }

    fn load(&mut self, index: usize) -> Result<(), Error> {
        let value = self.local(index)?.clone();
        self.stack.push(value);
        Ok(())
    }

    fn store(&mut self, index: usize) -> Result<(), Error> {
        let value = self.pop()?;
        *self.local(index)? = value;
        Ok(())
    }

    /// Returns whether a jump is taken, or `None` if that depends on a recorded call.
    pub fn is_taken(&mut self, instruction: u8) -> Result<Option<bool>, Error> {
        if instruction == code::GOTO {
            return Ok(Some(true));
        }
        let two_values = (code::IF_ICMPEQ..=code::IF_ACMPNE).contains(&instruction);
        let second = if two_values { self.pop()? } else { Value::Int(0) };
        let first = self.pop()?;
        Ok(match (instruction, &first, &second) {
            (code::IFEQ..=code::IF_ICMPLE, Value::Int(first), Value::Int(second)) => {
                let order = (instruction - code::IFEQ) % 6;
                Some(
                    [
                        first == second,
                        first != second,
                        first < second,
                        first >= second,
                        first > second,
                        first <= second,
                    ][usize::from(order)],
                )
            }
            (code::IFNULL, Value::Null, _) => Some(true),
            (code::IFNONNULL, Value::Null, _) => Some(false),
            (code::IFNULL, Value::Object(_) | Value::Text(_), _) => Some(false),
            (code::IFNONNULL, Value::Object(_) | Value::Text(_), _) => Some(true),
            _ => None,
        })
    }

    /// Runs an instruction that uses only this frame.
    pub fn plain_instruction(&mut self, instruction: u8, bytes: &mut Bytes<'_>) -> Result<(), Error> {
        match instruction {
            code::NOP => {}
            code::ACONST_NULL => self.stack.push(Value::Null),
            code::ICONST_M1..=code::ICONST_5 => {
                self.stack.push(Value::Int(i32::from(instruction) - i32::from(code::ICONST_0)))
            }
            code::BIPUSH => self.stack.push(Value::Int(i32::from(bytes.i8()?))),
            code::SIPUSH => self.stack.push(Value::Int(i32::from(bytes.i16()?))),
            code::LDC | code::LDC_W => {
                let index = if instruction == code::LDC { u16::from(bytes.u8()?) } else { bytes.u16()? };
                let value = constant_value(&self.class, index)?;
                self.stack.push(value);
            }
            code::ILOAD | code::ALOAD => {
                let index = usize::from(bytes.u8()?);
                self.load(index)?;
            }
            code::ILOAD_0..=code::ILOAD_3 | code::ALOAD_0..=code::ALOAD_3 => {
                self.load(usize::from((instruction - code::ILOAD_0) % 4))?
            }
            code::ISTORE | code::ASTORE => {
                let index = usize::from(bytes.u8()?);
                self.store(index)?;
            }
            code::ISTORE_0..=code::ISTORE_3 | code::ASTORE_0..=code::ASTORE_3 => {
                self.store(usize::from((instruction - code::ISTORE_0) % 4))?
            }
            code::IINC => {
                let (index, step) = (usize::from(bytes.u8()?), i32::from(bytes.i8()?));
                let value = self.local(index)?.to_int("a counter")?;
                *self.local(index)? = Value::Int(value.wrapping_add(step));
            }
            code::POP..=code::SWAP => self.stack_instruction(instruction)?,
            code::IALOAD
            | code::AALOAD
            | code::CALOAD
            | code::IASTORE
            | code::AASTORE
            | code::CASTORE
            | code::NEWARRAY
            | code::ANEWARRAY
            | code::ARRAYLENGTH => self.array_instruction(instruction, bytes)?,
            code::IADD | code::ISUB | code::IMUL => self.arithmetic(instruction)?,
            code::NEW => {
                let name = self.class.class_name(bytes.u16()?)?;
                self.stack.push(Value::object(&name, Content::Allocated));
            }
            // Casts have no effect here.
            code::CHECKCAST => {
                bytes.u16()?;
            }
            // Locks matter only between threads.
            code::MONITORENTER | code::MONITOREXIT => {
                self.pop()?;
            }
            _ => return Err(self.unknown(&format!("the instruction {instruction:#04x} is not supported"))),
        }
        Ok(())
    }

    fn stack_instruction(&mut self, instruction: u8) -> Result<(), Error> {
        let top = self.pop()?;
        match instruction {
            // The result of code that was not run must not be lost.
            code::POP if matches!(top, Value::Call(_)) => {
                return Err(self.unknown(&format!("{} is dropped", top.short())));
            }
            code::POP => {}
            code::DUP => self.stack.extend([top.clone(), top]),
            code::DUP_X1 => {
                let below = self.pop()?;
                self.stack.extend([top.clone(), below, top]);
            }
            code::SWAP => {
                let below = self.pop()?;
                self.stack.extend([top, below]);
            }
            _ => return Err(self.unknown(&format!("the instruction {instruction:#04x} is not supported"))),
        }
        Ok(())
    }

    fn array_instruction(&mut self, instruction: u8, bytes: &mut Bytes<'_>) -> Result<(), Error> {
        match instruction {
            code::NEWARRAY | code::ANEWARRAY => {
                let is_object = instruction == code::ANEWARRAY;
                bytes.take(if is_object { 2 } else { 1 })?;
                let length = usize::try_from(self.pop_int()?);
                let length = length.map_err(|_| self.unknown("an array with a negative length"))?;
                let empty = if is_object { Value::Null } else { Value::Int(0) };
                self.stack.push(Value::object("[]", Content::Items(vec![empty; length])));
            }
            code::ARRAYLENGTH => {
                let length = self.pop()?.items("an array")?.len();
                let length = i32::try_from(length).map_err(|_| self.unknown("the array is too long"))?;
                self.stack.push(Value::Int(length));
            }
            code::IALOAD | code::AALOAD | code::CALOAD => {
                let (index, array) = (self.pop_int()?, self.pop()?);
                let items = array.items("an array")?;
                let item = usize::try_from(index).ok().and_then(|index| items.get(index)).cloned();
                let item =
                    item.ok_or_else(|| self.unknown(&format!("array index {index} is out of range")))?;
                self.stack.push(item);
            }
            _ => {
                let (value, index, array) = (self.pop()?, self.pop_int()?, self.pop()?);
                self.set_item(&array, index, value)?;
            }
        }
        Ok(())
    }

    fn set_item(&self, array: &Value, index: i32, value: Value) -> Result<(), Error> {
        if let Value::Object(object) = array
            && let Content::Items(items) = &mut *object.content.borrow_mut()
            && let Some(place) = usize::try_from(index).ok().and_then(|index| items.get_mut(index))
        {
            *place = value;
            return Ok(());
        }
        Err(self.unknown(&format!("index {index} of {} is out of range", array.short())))
    }

    fn arithmetic(&mut self, instruction: u8) -> Result<(), Error> {
        let (second, first) = (self.pop()?, self.pop()?);
        let result = match (&first, &second) {
            (Value::Int(first), Value::Int(second)) => Value::Int(match instruction {
                code::IADD => first.wrapping_add(*second),
                code::ISUB => first.wrapping_sub(*second),
                _ => first.wrapping_mul(*second),
            }),
            _ => Value::call(
                "number",
                ["+", "-", "*"][usize::from(instruction - code::IADD) / 4],
                vec![first, second],
            ),
        };
        self.stack.push(result);
        Ok(())
    }
}

pub(crate) fn constant_value(class: &Class, index: u16) -> Result<Value, Error> {
    Ok(match class.constant(index)? {
        Constant::Integer(number) => Value::Int(*number),
        Constant::Text(text) => Value::Text(class.units(*text)?.into()),
        Constant::Class(_) => Value::call(&class.class_name(index)?, "class", Vec::new()),
        // Constants of other types occur next to the lists but are not used by them.
        _ => Value::call(&class.name, "constant", vec![Value::Int(i32::from(index))]),
    })
}
