//! Puts many mutants into one build, each behind a switch.
//!
//! `mutants <root> <list> <places>`: `list` is what `cargo mutants --list --json` prints, with an `id`
//! (from 1) in each row. Rewrites the files below `root` so that a mutant acts where
//! `crate::mutants::on(id)`, and writes to `places` where the text of each one now is, and the ids of
//! those for which a switch has no place: in constants, of functions that return `impl …`, and arms
//! without which a `match` would not be complete.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;

use proc_macro2::{LineColumn, Span};
use serde_json::{Value, json};
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

/// What a switch stands in.
#[derive(Debug, Clone)]
enum Site {
    /// An expression, whose text is replaced.
    Expression(Range<usize>),
    /// The beginning of a function's body.
    Body(usize),
    /// Behind the pattern of an arm without a guard: it gets one.
    Pattern(usize),
}

/// A text, and where its lines begin.
struct Source {
    text: String,
    lines: Vec<usize>,
}

impl Source {
    fn new(text: String) -> Self {
        let behind = text.match_indices('\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(behind).collect();
        Self { text, lines }
    }

    /// `line` from 1, `column` in characters from 0.
    fn at(&self, LineColumn { line, column }: LineColumn) -> usize {
        let start = self.lines[line - 1];
        let mut chars = self.text[start..].char_indices();
        chars.nth(column).map_or(self.text.len(), |(at, _)| start + at)
    }

    fn range(&self, span: Span) -> Range<usize> {
        self.at(span.start())..self.at(span.end())
    }
}

/// Finds the sites of a file, by the ranges of text that cargo-mutants names.
struct Finder<'a> {
    source: &'a Source,
    sites: BTreeMap<(usize, usize), Site>,
    is_constant: bool,
}

impl Finder<'_> {
    fn site(&mut self, named: Range<usize>, site: Site) {
        if !self.is_constant {
            self.sites.insert((named.start, named.end), site);
        }
    }

    fn inside(&mut self, is_constant: bool, visit: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.is_constant, is_constant);
        visit(self);
        self.is_constant = before;
    }

    fn function(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let range = |of: &dyn ToSpan| self.source.range(of.to_span());
        let body = Site::Body(range(block).start + 1);
        if let (Some(first), Some(last)) = (block.stmts.first(), block.stmts.last()) {
            let named = range(first).start..range(last).end;
            let is_opaque =
                matches!(&signature.output, syn::ReturnType::Type(_, of) if has_impl(of));
            if !is_opaque && signature.constness.is_none() {
                self.site(named, body);
            }
        }
        self.inside(signature.constness.is_some(), |this| visit::visit_block(this, block));
    }
}

trait ToSpan {
    fn to_span(&self) -> Span;
}

impl<T: syn::spanned::Spanned> ToSpan for T {
    fn to_span(&self) -> Span {
        self.span()
    }
}

fn has_impl(of: &syn::Type) -> bool {
    struct Found(bool);
    impl Visit<'_> for Found {
        fn visit_type_impl_trait(&mut self, _: &syn::TypeImplTrait) {
            self.0 = true;
        }
    }
    let mut found = Found(false);
    found.visit_type(of);
    found.0
}

/// Whether a condition has `let` in its chain: then it stands nowhere else, and `||` is no chain.
fn has_let(of: &syn::Expr) -> bool {
    match of {
        syn::Expr::Let(_) => true,
        syn::Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        _ => false,
    }
}

/// Whether an arm takes every value. A name in capitals is a constant or a variant.
fn covers_all(arm: &syn::Arm) -> bool {
    let is_variable = |name: &syn::Ident| name.to_string().starts_with(char::is_lowercase);
    arm.guard.is_none()
        && match &arm.pat {
            syn::Pat::Wild(_) => true,
            syn::Pat::Ident(name) => name.subpat.is_none() && is_variable(&name.ident),
            _ => false,
        }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.inside(true, |this| visit::visit_item_const(this, item));
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.inside(true, |this| visit::visit_impl_item_const(this, item));
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        self.inside(true, |this| visit::visit_item_static(this, item));
    }

    fn visit_expr_const(&mut self, item: &'ast syn::ExprConst) {
        self.inside(true, |this| visit::visit_expr_const(this, item));
    }

    fn visit_type_array(&mut self, item: &'ast syn::TypeArray) {
        self.inside(true, |this| visit::visit_type_array(this, item));
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.sig, &item.block);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.sig, &item.block);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.sig, block);
        }
    }

    fn visit_expr_binary(&mut self, item: &'ast syn::ExprBinary) {
        if !has_let(&item.left) && !has_let(&item.right) {
            let whole = self.source.range(item.span());
            self.site(self.source.range(item.op.span()), Site::Expression(whole));
        }
        visit::visit_expr_binary(self, item);
    }

    fn visit_expr_unary(&mut self, item: &'ast syn::ExprUnary) {
        let whole = self.source.range(item.span());
        self.site(self.source.range(item.op.span()), Site::Expression(whole));
        visit::visit_expr_unary(self, item);
    }

    fn visit_arm(&mut self, item: &'ast syn::Arm) {
        let whole = self.source.range(item.span());
        if let Some((_, guard)) = &item.guard
            && !has_let(guard)
        {
            let guard = self.source.range(guard.span());
            self.site(guard.clone(), Site::Expression(guard.clone()));
            self.site(whole, Site::Expression(guard));
        }
        visit::visit_arm(self, item);
    }

    fn visit_expr_match(&mut self, item: &'ast syn::ExprMatch) {
        // Patterns with a guard cover nothing, so another arm has to cover all.
        if item.arms.iter().any(covers_all) {
            for arm in item.arms.iter().filter(|arm| arm.guard.is_none() && !covers_all(arm)) {
                let end = self.source.range(arm.pat.span()).end;
                self.site(self.source.range(arm.span()), Site::Pattern(end));
            }
        }
        visit::visit_expr_match(self, item);
    }

    fn visit_expr_struct(&mut self, item: &'ast syn::ExprStruct) {
        let whole = self.source.range(item.span());
        for field in item.fields.pairs() {
            self.site(self.source.range(field.span()), Site::Expression(whole.clone()));
        }
        visit::visit_expr_struct(self, item);
    }
}

struct Mutant {
    id: u64,
    /// The text that it replaces.
    span: Range<usize>,
    replacement: String,
}

/// Mutants with the same site, by its range of text; empty where text is added. Outer ones come first.
type Groups<'a> = [(Range<usize>, &'a Site, Vec<&'a Mutant>)];

#[derive(Default)]
struct Output {
    text: String,
    /// Where the text of a mutant is.
    places: Vec<(u64, Range<usize>)>,
}

impl Output {
    fn place(&mut self, id: u64, text: &str) {
        let start = self.text.len();
        self.text.push_str(text);
        self.places.push((id, start..self.text.len()));
    }

    /// Writes a range of the text, with the switches of `groups`, which are in it.
    fn write(&mut self, text: &str, range: Range<usize>, mut groups: &Groups<'_>) {
        let mut at = range.start;
        while let Some(((place, site, mutants), behind)) = groups.split_first() {
            let count = behind.iter().take_while(|(inner, ..)| inner.start < place.end).count();
            let within;
            (within, groups) = behind.split_at(count);
            self.text.push_str(&text[at..place.start]);
            at = place.end;
            self.switch(text, place, site, mutants, within);
        }
        self.text.push_str(&text[at..range.end]);
    }

    fn switch(
        &mut self,
        text: &str,
        place: &Range<usize>,
        site: &Site,
        mutants: &[&Mutant],
        within: &Groups<'_>,
    ) {
        for (at, Mutant { id, span, replacement }) in mutants.iter().enumerate() {
            let on = format!("crate::mutants::on({id})");
            match site {
                Site::Body(_) => self.place(*id, &format!(" if {on} {{ return {replacement}; }} ")),
                Site::Pattern(_) => self.place(*id, &format!(" if !{on}")),
                Site::Expression(_) => {
                    self.text.push_str(if at == 0 { "(" } else { "" });
                    let replaced = if place.start <= span.start && span.end <= place.end {
                        let (before, behind) =
                            (&text[place.start..span.start], &text[span.end..place.end]);
                        format!("{before}{replacement}{behind}")
                    } else {
                        // The guard of an arm that is deleted.
                        "false".to_owned()
                    };
                    self.place(*id, &format!("if {on} {{ {replaced} }} else "));
                }
            }
        }
        if let Site::Expression(_) = site {
            self.text.push_str("{ ");
            self.write(text, place.clone(), within);
            self.text.push_str(" })");
        }
    }
}

/// The mutants of one file: what is written instead, and the ids of those without a site.
fn rewrite(text: String, listed: &[&Value]) -> (Output, Vec<u64>) {
    let tree = syn::parse_file(&text).expect("a file that compiles");
    let source = Source::new(text);
    let mut finder = Finder { source: &source, sites: BTreeMap::new(), is_constant: false };
    finder.visit_file(&tree);
    let number = |of: &Value| of.as_u64().expect("a number");
    let read = |one: &&Value| {
        let at = |end: &str| {
            let [line, column] =
                ["line", "column"].map(|name| number(&one["span"][end][name]) as usize);
            source.at(LineColumn { line, column: column - 1 })
        };
        let replacement = one["replacement"].as_str().expect("a text").to_owned();
        Mutant { id: number(&one["id"]), span: at("start")..at("end"), replacement }
    };
    let mutants: Vec<Mutant> = listed.iter().map(read).collect();
    let (mut by_place, mut without) = (BTreeMap::<_, (&Site, Vec<&Mutant>)>::new(), Vec::new());
    for mutant in &mutants {
        let Some(site) = finder.sites.get(&(mutant.span.start, mutant.span.end)) else {
            without.push(mutant.id);
            continue;
        };
        let place = match site {
            Site::Expression(place) => place.clone(),
            Site::Body(at) | Site::Pattern(at) => *at..*at,
        };
        let order = (place.start, usize::MAX - place.end);
        by_place.entry(order).or_insert((site, Vec::new())).1.push(mutant);
    }
    let group = |((start, end), (site, of))| (start..usize::MAX - end, site, of);
    let groups: Vec<_> = by_place.into_iter().map(group).collect();
    let mut output = Output::default();
    output.write(&source.text, 0..source.text.len(), &groups);
    (output, without)
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let [_, root, list, report] = &args[..] else { panic!("mutants <root> <list> <places>") };
    let list = fs::read(list).expect("a list");
    let list: Vec<Value> = serde_json::from_slice(&list).expect("JSON");
    let mut files = BTreeMap::<&str, Vec<&Value>>::new();
    for mutant in &list {
        files.entry(mutant["file"].as_str().expect("a file")).or_default().push(mutant);
    }
    let (mut places, mut without) = (Vec::new(), Vec::new());
    for (file, listed) in files {
        let path = format!("{root}/{file}");
        let (output, others) = rewrite(fs::read_to_string(&path).expect("a text"), &listed);
        for (id, Range { start, end }) in output.places {
            places.push(json!({ "id": id, "file": file, "start": start, "end": end }));
        }
        without.extend(others);
        fs::write(&path, output.text).expect("a file to write to");
    }
    let all = json!({ "places": places, "without": without });
    fs::write(report, all.to_string()).expect("a file to write to");
}
