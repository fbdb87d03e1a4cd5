//! A machine of one grammar, so that one driver drives them all.

use super::super::driven::Effects;
use turnlock::Next;
#[cfg(feature = "planning")]
use turnlock::planning::Pass;
use turnlock::turn::Input;
#[cfg(feature = "durable")]
use turnlock::turn::Turn;

/// A turn or a tool-request pass.
#[derive(Debug)]
pub(crate) struct Machine {
    kind: Kind,
    /// Until when the machine waits, since it was last polled to the end.
    until: Option<u64>,
}

macro_rules! kinds {
    ($($(#[$when:meta])* $name:ident($machine:ty),)*) => {
        #[derive(Debug)]
        enum Kind {
            $($(#[$when])* $name(Box<$machine>),)*
        }

        $(
            $(#[$when])*
            impl From<$machine> for Machine {
                fn from(machine: $machine) -> Self {
                    Self { kind: Kind::$name(Box::new(machine)), until: None }
                }
            }
        )*

        impl Machine {
            pub(crate) fn handle(&mut self, now_ms: u64, input: Input) {
                match &mut self.kind {
                    $($(#[$when])* Kind::$name(machine) => machine.handle(now_ms, input),)*
                }
            }

            /// Adds the next effect, if there is one.
            pub(crate) fn poll(&mut self, effects: &mut Effects) -> bool {
                match &mut self.kind {
                    $($(#[$when])* Kind::$name(machine) => match machine.poll() {
                        Next::Effect(effect) => {
                            effects.add(&effect);
                            return true;
                        }
                        Next::Wait { until } => self.until = until,
                    },)*
                }
                false
            }

            /// Has the machine called again at once.
            pub(crate) fn due(&mut self) {
                self.until = Some(0);
            }

            pub(crate) fn until(&self) -> Option<u64> {
                self.until
            }
        }
    };
}

kinds! {
    #[cfg(feature = "durable")]
    Turn(Turn),
    #[cfg(all(feature = "turn", not(feature = "durable")))]
    Unkept(turnlock::turn::shell::Unkept),
    #[cfg(feature = "planning")]
    Request(Pass),
}
