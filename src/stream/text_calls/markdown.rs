//! Whether a place in a text is code or a quotation, as of CommonMark 0.31 (sections 4.4, 4.5, 5.1 and
//! 6.1). Where a reader of Markdown would need the rest of the text to know, it is.

/// A place in a text that is read from its beginning.
#[derive(Debug, Default)]
pub(super) struct Place {
    /// The line so far.
    line: String,
    /// The block between fences that has begun.
    fence: Option<Fence>,
    /// Backticks of the run that ends here.
    ticks: usize,
    /// Backticks that begin a code span, which ends with as many, or with its paragraph.
    span: Option<usize>,
    /// The span with which the line began.
    span_before: Option<usize>,
    /// A line of this paragraph is a quotation: those behind it continue it.
    is_quotation: bool,
    /// A mark of this paragraph was quoted, and so is what follows it.
    follows_mark: bool,
    /// How many elements of HTML that hold code or quotations have begun.
    elements: usize,
}

#[derive(Debug, Clone, Copy)]
struct Fence {
    mark: char,
    length: usize,
    /// The column of its first mark.
    column: usize,
}

/// Elements of HTML whose text is shown, not meant.
const ELEMENTS: [&str; 4] = ["pre", "code", "blockquote", "samp"];

impl Place {
    pub(super) fn read(&mut self, c: char) {
        if c == '\n' {
            self.end_line();
            return;
        }
        if c == '`' {
            self.ticks += 1;
        } else {
            self.end_ticks();
        }
        if c == '>' || c.is_whitespace() {
            self.end_tag();
        }
        self.line.push(c);
    }

    /// Whether a mark that begins here is quoted.
    pub(super) fn quotes_mark(&mut self) -> bool {
        self.end_ticks();
        let (column, content) = content_of(&self.line);
        self.is_quotation |= content.starts_with('>');
        let follows_quote = self
            .line
            .chars()
            .next_back()
            .is_some_and(|c| matches!(c, '"' | '\'' | '“' | '‘' | '«'));
        let is_code = column.is_code || fence_of(&self.line).is_some();
        self.follows_mark |= follows_quote || self.span.is_some() || self.is_quotation || is_code;
        self.fence.is_some() || self.follows_mark || self.elements > 0
    }

    fn end_ticks(&mut self) {
        let length = std::mem::take(&mut self.ticks);
        if length == 0 || self.fence.is_some() {
            return;
        }
        match self.span {
            None => self.span = Some(length),
            Some(open) if open == length => self.span = None,
            Some(_) => {}
        }
    }

    fn end_tag(&mut self) {
        let Some((_, tag)) = self.line.rsplit_once('<') else { return };
        let is_element = |name: &str| ELEMENTS.iter().any(|own| name.eq_ignore_ascii_case(own));
        match tag.strip_prefix('/') {
            Some(name) if is_element(name) => self.elements = self.elements.saturating_sub(1),
            None if is_element(tag) => self.elements += 1,
            _ => {}
        }
    }

    fn end_line(&mut self) {
        self.end_ticks();
        self.end_tag();
        let line = std::mem::take(&mut self.line);
        if let Some(fence) = self.fence {
            if ends(fence, &line) {
                self.fence = None;
            }
            return;
        }
        if line.trim().is_empty() {
            self.span = None;
            self.is_quotation = false;
            self.follows_mark = false;
        } else if let Some(fence) = fence_of(&line) {
            self.fence = Some(fence);
            self.span = self.span_before;
        } else {
            self.is_quotation |= content_of(&line).1.starts_with('>');
        }
        self.span_before = self.span;
    }
}

/// Where the content of a line begins.
struct Column {
    number: usize,
    /// It is indented by four columns, as code is.
    is_code: bool,
}

/// The content of a line, behind the markers of lists.
fn content_of(line: &str) -> (Column, &str) {
    let mut number = 0;
    let mut rest = line;
    loop {
        let content = rest.trim_start_matches([' ', '\t']);
        let space = rest.get(..rest.len() - content.len()).unwrap_or_default();
        let width: usize = space.chars().map(|c| if c == '\t' { 4 } else { 1 }).sum();
        // Behind a marker, one column is its own.
        let most = if number == 0 { 3 } else { 4 };
        number += width;
        let column = Column { number, is_code: width > most };
        let Some(behind) = behind_marker(content).filter(|_| !column.is_code) else {
            return (column, content);
        };
        number += content.len() - behind.len();
        rest = behind;
    }
}

/// What follows the marker of a list item: white space, and the content.
fn behind_marker(content: &str) -> Option<&str> {
    let digits = content.trim_start_matches(|c: char| c.is_ascii_digit());
    let behind = if digits.len() < content.len() {
        digits.strip_prefix(['.', ')'])
    } else {
        content.strip_prefix(['-', '*', '+'])
    };
    behind.filter(|behind| behind.starts_with([' ', '\t']))
}

/// The fence that a line begins a block with.
fn fence_of(line: &str) -> Option<Fence> {
    let (column, content) = content_of(line);
    let mark = content.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let info = content.trim_start_matches(mark);
    let length = content.len() - info.len();
    // Backticks behind backticks are a code span.
    let is_fence = length >= 3 && !column.is_code && (mark == '~' || !info.contains('`'));
    is_fence.then_some(Fence { mark, length, column: column.number })
}

/// Whether a line ends a block.
fn ends(fence: Fence, line: &str) -> bool {
    let content = line.trim_start_matches([' ', '\t']);
    let rest = content.trim_start_matches(fence.mark);
    let is_indented = line.len() - content.len() > fence.column + 3;
    content.len() - rest.len() >= fence.length && rest.trim().is_empty() && !is_indented
}
