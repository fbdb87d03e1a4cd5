//! The events of one provider's stream, behind a common face.

use std::any::Any;
use std::fmt;

use super::delta::Delta;

/// Decodes the events of one response in one wire format. The value is the state between two
/// events.
pub(crate) trait Events: Clone + PartialEq + Send + Sync + 'static {
    /// Takes the data of the next event, and appends the deltas that it completes.
    fn data(&mut self, data: &str, out: &mut Vec<Delta>);

    /// Whether the model has finished: a finish reason or the wire's end mark was seen.
    fn is_finished(&self) -> bool;

    /// Takes the end of the body, which ends inside no event.
    fn end(&mut self, _out: &mut Vec<Delta>) {}

    /// The id of a complete response that the provider can keep.
    fn response(&self) -> Option<&str> {
        None
    }
}

/// [`Events`] of any wire format.
pub(crate) struct AnyEvents(Box<dyn Face>);

impl AnyEvents {
    pub(crate) fn new(events: impl Events) -> Self {
        Self(Box::new(events))
    }

    pub(super) fn data(&mut self, data: &str, out: &mut Vec<Delta>) {
        self.0.data(data, out);
    }

    pub(super) fn end(&mut self, out: &mut Vec<Delta>) {
        self.0.end(out);
    }

    pub(super) fn is_finished(&self) -> bool {
        self.0.is_finished()
    }

    pub(super) fn response(&self) -> Option<&str> {
        self.0.response()
    }
}

impl Clone for AnyEvents {
    fn clone(&self) -> Self {
        Self(self.0.boxed())
    }
}

impl PartialEq for AnyEvents {
    fn eq(&self, other: &Self) -> bool {
        self.0.equals(other.0.as_any())
    }
}

impl fmt::Debug for AnyEvents {
    // Without the state: its text would be part of every program that decodes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnyEvents")
    }
}

/// What [`AnyEvents`] needs of [`Events`], in a form that a trait object can have.
trait Face: Send + Sync {
    fn data(&mut self, data: &str, out: &mut Vec<Delta>);
    fn end(&mut self, out: &mut Vec<Delta>);
    fn is_finished(&self) -> bool;
    fn response(&self) -> Option<&str>;
    fn boxed(&self) -> Box<dyn Face>;
    fn equals(&self, other: &dyn Any) -> bool;
    fn as_any(&self) -> &dyn Any;
}

impl<E: Events> Face for E {
    fn data(&mut self, data: &str, out: &mut Vec<Delta>) {
        Events::data(self, data, out);
    }

    fn end(&mut self, out: &mut Vec<Delta>) {
        Events::end(self, out);
    }

    fn is_finished(&self) -> bool {
        Events::is_finished(self)
    }

    fn response(&self) -> Option<&str> {
        Events::response(self)
    }

    fn boxed(&self) -> Box<dyn Face> {
        Box::new(self.clone())
    }

    fn equals(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<Self>() == Some(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
