// Finds the SQL statements of the sources, with the types of their rows and parameters, by the TypeScript compiler.
// It must not execute the sources: it follows each fragment from the template that uses it to its definition.
import {
  type CallExpression,
  type Expression,
  type Identifier,
  isArrayBindingPattern,
  isArrayLiteralExpression,
  isArrowFunction,
  isAsExpression,
  isBinaryExpression,
  isBindingElement,
  isBlock,
  isCallExpression,
  isConditionalExpression,
  isElementAccessExpression,
  isForOfStatement,
  isFunctionDeclaration,
  isIdentifier,
  isNonNullExpression,
  isNoSubstitutionTemplateLiteral,
  isNumericLiteral,
  isObjectLiteralExpression,
  isParameterDeclaration,
  isParenthesizedExpression,
  isPropertyAccessExpression,
  isPropertyAssignment,
  isReturnStatement,
  isSatisfiesExpression,
  isShorthandPropertyAssignment,
  isSpreadAssignment,
  isStringLiteral,
  isTaggedTemplateExpression,
  isTemplateExpression,
  isVariableDeclaration,
  type Node,
  NodeFlags,
  type ObjectLiteralExpression,
  type SourceFile,
  SyntaxKind,
  type TaggedTemplateExpression,
} from 'typescript/unstable/ast';
import {
  API,
  type Checker,
  type Project,
  type Symbol as TsSymbol,
  type Type,
} from 'typescript/unstable/sync';

/** A value that is sent with the text: the type and the source text of its expression. */
type Parameter = { type: Type; text: string };

export type Statement = {
  /** `path:line` of the statement. */
  at: string;
  /** As sent to PostgreSQL, with `$1` for the first parameter. */
  text: string;
  /** Undefined if the values are not written in the source. */
  parameters: Parameter[] | undefined;
  /** The declared type of a row; undefined if the code reads no rows. */
  row: Type | undefined;
};

/** A statement whose text is known only at runtime, or a template that belongs to no statement. */
type Unread = { at: string; reason: string };

export type Sources = { statements: Statement[]; unread: Unread[]; checker: Checker; close(): void };

/** One possible text of a fragment: text, and values in between. */
type Part = string | Parameter;
type Variant = Part[];
/** The arguments of the functions around a fragment, by the symbols of their parameters. */
type Scope = ReadonlyMap<number, { node: Expression; scope: Scope }>;

/** Thrown if a text depends on a parameter of this function, which is then read once for every caller. */
class NeedsCallers extends Error {
  declaration: Node;
  constructor(declaration: Node) {
    super('depends on a parameter');
    this.declaration = declaration;
  }
}

/** Reads the packages `server` and `cli` of the repository at `root`, without their tests. */
export function readSources(root: string): Sources {
  const api = new API({ cwd: root });
  const project = api.updateSnapshot({ openProjects: [`${root}/tsconfig.json`] }).getProjects()[0] as Project;
  const finder = new Finder(root, project);
  finder.find();
  const { statements, unread, checker } = finder;
  return { statements, unread, checker, close: () => api.close() };
}

const sqlText = /^\s*(?:select|insert\s+into|update\s+\w+|delete\s+from|with\s+\w+\s+as)\s/i;

class Finder {
  readonly root: string;
  readonly project: Project;
  readonly checker: Checker;
  /** Calls, by the name of the called function. */
  readonly calls = new Map<string, CallExpression[]>();
  readonly statements: Statement[] = [];
  readonly unread: Unread[] = [];
  readonly templates = new Map<Node, string>();
  readonly reached = new Set<Node>();
  /** The arguments of one caller of the functions around the statement that is being read. */
  outer: Scope = new Map();
  /** The possible values of the parameters of the current `map` callback. */
  readonly texts = new Map<number, string>();

  constructor(root: string, project: Project) {
    this.root = root;
    this.project = project;
    this.checker = project.checker;
  }

  find(): void {
    const isSource = /\/packages\/(?:server|cli)\/src\/(?!.*\.test\.ts$).*\.ts$/;
    const { program } = this.project;
    const files = program
      .getSourceFileNames()
      .flatMap((name) => (isSource.test(name) ? (program.getSourceFile(name) ?? []) : []));
    for (const file of files) this.noteCalls(file);
    for (const file of files) this.visit(file, file);
    for (const [template, at] of this.templates)
      if (!this.reached.has(template))
        this.unread.push({ at, reason: `no statement uses ${textOf(template)}` });
  }

  noteCalls(node: Node): void {
    if (isCallExpression(node) && isIdentifier(node.expression)) {
      const name = node.expression.text;
      this.calls.set(name, [...(this.calls.get(name) ?? []), node]);
    }
    node.forEachChild((child) => this.noteCalls(child));
  }

  visit(node: Node, file: SourceFile): void {
    if (isTaggedTemplateExpression(node) && textOf(node.tag) === 'sql')
      this.templates.set(node, this.placeOf(node, file));
    if (isCallExpression(node) && isPropertyAccessExpression(node.expression)) {
      const { expression: receiver, name } = node.expression;
      if (name.text === 'execute' && this.isFragment(receiver)) {
        this.addTemplate(receiver, file);
      } else if (name.text === 'query' && node.arguments[0]) {
        this.addQuery(node, file);
      }
    } else if (this.isStatementObject(node)) {
      this.add(node, file, undefined, (scope) => this.configsOf(node, scope));
    }
    node.forEachChild((child) => this.visit(child, file));
  }

  addTemplate(receiver: Expression, file: SourceFile): void {
    const [row] = this.typeArgumentsOf(receiver);
    this.add(receiver, file, row, (scope) => this.fragmentsOf(receiver, scope).map(render));
  }

  addQuery(call: CallExpression, file: SourceFile): void {
    const [config, values] = call.arguments as readonly Expression[];
    const row = call.typeArguments?.[0] && this.checker.getTypeFromTypeNode(call.typeArguments[0]);
    if (!row && readsRows(call))
      this.unread.push({
        at: this.placeOf(call, file),
        reason: 'its rows are of type any: name their type, query<{ … }>(…)',
      });
    this.add(call, file, row, (scope) => {
      const known =
        values && isArrayLiteralExpression(values) ? this.parametersOf(values.elements) : undefined;
      return this.configsOf(config as Expression, scope).map(({ text, parameters }) => ({
        text,
        parameters: parameters ?? known,
      }));
    });
  }

  placeOf(node: Node, file: SourceFile): string {
    const line = file.text.slice(0, node.getStart(file)).split('\n').length;
    return `${file.fileName.slice(this.root.length).replace(/^\//, '')}:${line}`;
  }

  /** Adds a statement, once for every caller that its text depends on. */
  add(
    node: Node,
    file: SourceFile,
    row: Type | undefined,
    read: (scope: Scope) => Pick<Statement, 'text' | 'parameters'>[],
    outer: Scope = new Map(),
    depth = 0,
  ): void {
    const at = this.placeOf(node, file);
    try {
      this.outer = outer;
      for (const one of read(new Map())) this.statements.push({ at, row, ...one });
    } catch (error) {
      const callers = error instanceof NeedsCallers && depth < 5 ? this.callersOf(error.declaration) : [];
      if (!(error instanceof NeedsCallers) || callers.length === 0) {
        this.unread.push({ at, reason: (error as Error).message });
        return;
      }
      for (const call of callers)
        this.add(node, file, row, read, this.bind(error.declaration, call, outer, new Map()), depth + 1);
    }
  }

  /** Returns the calls of a function by its name, anywhere in the sources. */
  callersOf(declaration: Node): CallExpression[] {
    const named = isFunctionDeclaration(declaration) ? declaration : declaration.parent;
    const name = isFunctionDeclaration(named) || isVariableDeclaration(named) ? named.name : undefined;
    const symbol = name && this.symbolOf(name);
    return (this.calls.get(name ? textOf(name) : '') ?? []).filter(
      (call) => symbol !== undefined && this.symbolOf(call.expression)?.id === symbol.id,
    );
  }

  bind(declaration: Node, call: CallExpression, base: Scope, ofArguments: Scope): Scope {
    const scope = new Map(base);
    const { parameters } = declaration as unknown as { parameters: readonly { name: Node }[] };
    for (const [index, { name }] of parameters.entries()) {
      const symbol = isIdentifier(name) ? this.checker.getSymbolAtLocation(name) : undefined;
      const node = call.arguments[index];
      if (symbol && node) scope.set(symbol.id, { node, scope: ofArguments });
    }
    return scope;
  }

  // Types

  isFragment(node: Expression): boolean {
    const type = this.checker.getTypeAtLocation(node);
    return type !== undefined && /\bRawBuilder</.test(this.checker.typeToString(type));
  }

  typeArgumentsOf(node: Expression): readonly Type[] {
    const type = this.checker.getTypeAtLocation(node);
    return type?.isObjectType() && type.isTypeReference() ? this.checker.getTypeArguments(type) : [];
  }

  parameterOf(node: Expression): Parameter {
    const type = this.checker.getTypeAtLocation(node);
    if (!type) throw new Error(`no type of ${textOf(node)}`);
    return { type, text: textOf(node) };
  }

  parametersOf(nodes: readonly Expression[]): Parameter[] {
    return nodes.map((node) => this.parameterOf(node));
  }

  // Names

  symbolOf(node: Node): TsSymbol | undefined {
    const symbol = isShorthandPropertyAssignment(node.parent)
      ? this.checker.getShorthandAssignmentValueSymbol(node.parent)
      : this.checker.getSymbolAtLocation(node);
    // An imported name resolves to the name of its declaration.
    return symbol && (symbol.flags & ALIAS ? this.checker.getAliasedSymbol(symbol) : symbol);
  }

  declarationOf(node: Node): { symbol: TsSymbol; declaration: Node } {
    const symbol = this.symbolOf(node);
    const declaration = symbol?.valueDeclaration?.resolve(this.project);
    if (!symbol || !declaration) throw new Error(`${textOf(node)} is not declared`);
    return { symbol, declaration };
  }

  /** Returns the expressions that a name may stand for. Throws NeedsCallers for a parameter without a known argument. */
  valuesOf(node: Identifier, scope: Scope): { node: Expression; scope: Scope }[] {
    const { symbol, declaration } = this.declarationOf(node);
    const bound = scope.get(symbol.id) ?? this.outer.get(symbol.id);
    if (bound) return [bound];
    if (isParameterDeclaration(declaration)) throw new NeedsCallers(declaration.parent);
    if (isVariableDeclaration(declaration)) {
      if (declaration.parent.flags & NodeFlags.Let) throw new Error(`${textOf(node)} may be assigned again`);
      if (declaration.initializer) return [{ node: declaration.initializer, scope }];
      const loop = declaration.parent.parent;
      if (loop && isForOfStatement(loop))
        return this.elementsOf(loop.expression, scope).map((one) => ({ node: one, scope }));
    }
    if (isBindingElement(declaration) && isArrayBindingPattern(declaration.parent)) {
      const pattern = declaration.parent;
      const index = [...pattern.elements].indexOf(declaration);
      const from = pattern.parent;
      if (isVariableDeclaration(from) && from.initializer)
        return branchesOf(from.initializer).map((branch) => ({
          node: this.elementsOf(branch, scope)[index] as Expression,
          scope,
        }));
    }
    throw new Error(`${textOf(node)} is neither a constant nor a parameter`);
  }

  /** Returns the elements of an array literal, and those that the same function pushes onto it. */
  elementsOf(node: Expression, scope: Scope): Expression[] {
    const plain = bare(node);
    if (isArrayLiteralExpression(plain)) return [...plain.elements];
    if (isCallExpression(plain) && isPropertyAccessExpression(plain.expression))
      if (plain.expression.name.text === 'filter') return this.elementsOf(plain.expression.expression, scope);
    if (isIdentifier(plain)) {
      const own = this.valuesOf(plain, scope).flatMap((one) => this.elementsOf(one.node, one.scope));
      return [...own, ...this.pushedOnto(plain)];
    }
    throw new Error(`${textOf(node)} is not an array literal`);
  }

  pushedOnto(array: Identifier): Expression[] {
    const pushed: Expression[] = [];
    const visit = (node: Node): void => {
      if (isCallExpression(node) && isPropertyAccessExpression(node.expression)) {
        const { expression, name } = node.expression;
        if (name.text === 'push' && isIdentifier(expression) && expression.text === array.text)
          pushed.push(...node.arguments);
      }
      node.forEachChild(visit);
    };
    let around: Node = array;
    while (around.parent && !isFunctionDeclaration(around) && !isArrowFunction(around))
      around = around.parent;
    visit(around);
    return pushed;
  }

  /** Returns the expressions that a call may return, with the parameters of the function bound. */
  resultsOf(call: CallExpression, scope: Scope): { node: Expression; scope: Scope }[] {
    const callee = bare(call.expression);
    let { declaration } = this.declarationOf(isPropertyAccessExpression(callee) ? callee.name : callee);
    if (isVariableDeclaration(declaration) || isPropertyAssignment(declaration))
      declaration = declaration.initializer as Node;
    if (!isFunctionDeclaration(declaration) && !isArrowFunction(declaration))
      throw new Error(`${textOf(callee)} is not a function of the project`);
    const inner = this.bind(declaration, call, scope, scope);
    const { body } = declaration;
    if (body && !isBlock(body)) return [{ node: body, scope: inner }];
    const returned: { node: Expression; scope: Scope }[] = [];
    const visit = (node: Node): void => {
      if (isReturnStatement(node) && node.expression) returned.push({ node: node.expression, scope: inner });
      else if (!isArrowFunction(node) && !isFunctionDeclaration(node)) node.forEachChild(visit);
    };
    body?.forEachChild(visit);
    return returned;
  }

  // Fragments of Kysely

  fragmentsOf(node: Expression, scope: Scope): Variant[] {
    const plain = bare(node);
    if (isConditionalExpression(plain))
      return branchesOf(plain)
        .filter((branch) => branch.kind !== SyntaxKind.NullKeyword)
        .flatMap((branch) => this.fragmentsOf(branch, scope));
    if (isTaggedTemplateExpression(plain)) return this.templateOf(plain, scope);
    if (isIdentifier(plain))
      return this.valuesOf(plain, scope).flatMap((one) => this.fragmentsOf(one.node, one.scope));
    if (isElementAccessExpression(plain)) {
      const values = isIdentifier(plain.expression) ? this.valuesOf(plain.expression, scope) : [];
      return values.flatMap(({ node: object, scope: inner }) =>
        propertiesOf(object).flatMap((value) => this.fragmentsOf(value, inner)),
      );
    }
    if (isCallExpression(plain)) return this.callOf(plain, scope);
    throw new Error(`${textOf(node)} is not a fragment that can be followed`);
  }

  callOf(call: CallExpression, scope: Scope): Variant[] {
    const { expression } = call;
    if (isPropertyAccessExpression(expression) && textOf(expression.expression) === 'sql') {
      const [first, second] = [...call.arguments] as [Expression, Expression?];
      switch (expression.name.text) {
        case 'raw':
          return this.stringsOf(first, scope).map((text) => [text]);
        case 'lit':
          return this.stringsOf(first, scope).map((text) => [isStringLiteral(first) ? `'${text}'` : text]);
        case 'table':
        case 'ref':
          return this.stringsOf(first, scope).map((text) => [quoted(text)]);
        case 'join': {
          const elements = this.elementsOf(first, scope).map((one) =>
            this.isFragment(one) ? this.fragmentsOf(one, scope) : [[this.parameterOf(one)]],
          );
          const separator = second ? this.fragmentsOf(second, scope)[0] : [', '];
          return zip(elements.flatMap((one, index) => (index === 0 ? [one] : [[separator as Variant], one])));
        }
      }
    }
    return this.resultsOf(call, scope).flatMap((one) => this.fragmentsOf(one.node, one.scope));
  }

  templateOf(node: TaggedTemplateExpression, scope: Scope): Variant[] {
    this.reached.add(node);
    const { template } = node;
    if (isNoSubstitutionTemplateLiteral(template)) return [[template.text]];
    return zip([
      [[template.head.text]],
      ...template.templateSpans.flatMap(({ expression, literal }): Variant[][] => [
        this.isFragment(expression) ? this.fragmentsOf(expression, scope) : [[this.parameterOf(expression)]],
        [[literal.text]],
      ]),
    ]);
  }

  // Statements as text

  stringsOf(node: Expression, scope: Scope): string[] {
    const plain = bare(node);
    if (isStringLiteral(plain) || isNoSubstitutionTemplateLiteral(plain)) return [plain.text];
    if (isNumericLiteral(plain)) return [plain.text];
    const literals = this.literalsOf(plain);
    if (literals.length > 0) return literals;
    if (isConditionalExpression(plain))
      return branchesOf(plain).flatMap((branch) => this.stringsOf(branch, scope));
    if (isTemplateExpression(plain))
      return zip([
        [[plain.head.text]],
        ...plain.templateSpans.flatMap(({ expression, literal }): Variant[][] => [
          this.stringsOf(expression, scope).map((text) => [text]),
          [[literal.text]],
        ]),
      ]).map((variant) => variant.join(''));
    if (isBinaryExpression(plain) && plain.operatorToken.kind === SyntaxKind.PlusToken) {
      const right = this.stringsOf(plain.right, scope);
      return this.stringsOf(plain.left, scope).flatMap((left) => right.map((one) => left + one));
    }
    if (isIdentifier(plain)) {
      const given = this.texts.get(this.symbolOf(plain)?.id ?? -1);
      if (given !== undefined) return [given];
      return this.valuesOf(plain, scope).flatMap((one) => this.stringsOf(one.node, one.scope));
    }
    if (isCallExpression(plain) && isPropertyAccessExpression(plain.expression)) {
      const { expression, name } = plain.expression;
      const [separator] = plain.arguments;
      if (name.text === 'join' && separator)
        return [this.listOf(expression, scope).join(this.stringsOf(separator, scope)[0])];
    }
    if (isCallExpression(plain) && isIdentifier(plain.expression)) {
      const returned = this.returnedBy(plain, scope);
      if (returned.length > 0) return returned;
    }
    throw new Error(`the text of ${textOf(node)} is not known before it runs`);
  }

  /** Returns the texts that a function of the project returns; none if they are not known. */
  returnedBy(call: CallExpression, scope: Scope): string[] {
    try {
      return this.resultsOf(call, scope).flatMap((one) => this.stringsOf(one.node, one.scope));
    } catch {
      return [];
    }
  }

  /** Returns the values of a string literal type or of a union of them; none for other types. */
  literalsOf(node: Expression): string[] {
    const type = this.checker.getTypeAtLocation(node);
    const members = type?.isUnionType() ? type.getTypes() : type ? [type] : [];
    const values = members.flatMap((one) => (one.isStringLiteralType() ? [one.value] : []));
    return values.length === members.length ? values : [];
  }

  /** Returns the texts of a list literal, of a list of an object's names, or of another list by `map`. */
  listOf(node: Expression, scope: Scope): string[] {
    const plain = bare(node);
    if (isIdentifier(plain))
      return this.valuesOf(plain, scope).flatMap((one) => this.listOf(one.node, one.scope));
    if (isCallExpression(plain) && isPropertyAccessExpression(plain.expression)) {
      const { expression, name } = plain.expression;
      const [argument] = plain.arguments;
      if (name.text === 'filter') return this.listOf(expression, scope);
      if (argument && textOf(plain.expression) === 'Object.keys' && isIdentifier(argument))
        return this.valuesOf(argument, scope).flatMap((one) => namesOf(one.node));
      if (name.text === 'map' && argument && isArrowFunction(argument) && !isBlock(argument.body)) {
        const { body, parameters } = argument;
        const symbol = this.symbolOf((parameters[0] as (typeof parameters)[number]).name) as TsSymbol;
        return this.listOf(expression, scope).flatMap((text) => {
          this.texts.set(symbol.id, text);
          return this.stringsOf(body, scope);
        });
      }
    }
    return this.elementsOf(plain, scope).flatMap((one) => this.stringsOf(one, scope));
  }

  /** Returns whether this is `{ name, text, … }` with SQL as its text: a statement, wherever it is sent. */
  isStatementObject(node: Node): node is ObjectLiteralExpression {
    if (!isObjectLiteralExpression(node)) return false;
    const text = memberOf(node, 'text');
    if (!text || !memberOf(node, 'name')) return false;
    try {
      return this.stringsOf(text, new Map()).some((one) => sqlText.test(one));
    } catch {
      return memberOf(node, 'values') !== undefined;
    }
  }

  /** Returns the texts and values of an argument of `query`. */
  configsOf(node: Expression, scope: Scope): Pick<Statement, 'text' | 'parameters'>[] {
    const plain = bare(node);
    if (isObjectLiteralExpression(plain)) {
      const text = memberOf(plain, 'text');
      const values = memberOf(plain, 'values');
      const list = values && this.arrayOf(values, scope);
      const parameters = list && this.parametersOf(list.elements as unknown as readonly Expression[]);
      const own = text
        ? this.stringsOf(text, scope).map((one) => ({ text: one, parameters: undefined }))
        : plain.properties
            .filter(isSpreadAssignment)
            .flatMap(({ expression }) => this.configsOf(expression, scope));
      return own.map((one) => ({ ...one, parameters: parameters ?? one.parameters }));
    }
    if (isIdentifier(plain) && !this.isText(plain))
      return this.valuesOf(plain, scope).flatMap((one) => this.configsOf(one.node, one.scope));
    if (isCallExpression(plain))
      return this.resultsOf(plain, scope).flatMap((one) => this.configsOf(one.node, one.scope));
    return this.stringsOf(plain, scope).map((text) => ({ text, parameters: undefined }));
  }

  arrayOf(node: Expression, scope: Scope) {
    const plain = bare(node);
    if (isArrayLiteralExpression(plain)) return plain;
    const value = isIdentifier(plain) ? this.valuesOf(plain, scope)[0]?.node : undefined;
    return value && isArrayLiteralExpression(value) ? value : undefined;
  }

  isText(node: Expression): boolean {
    const type = this.checker.getTypeAtLocation(node);
    return type !== undefined && this.checker.isTypeAssignableTo(type, this.checker.getStringType());
  }
}

/** SymbolFlags.Alias */
const ALIAS = 2_097_152;

const textOf = (node: Node): string => node.getText(node.getSourceFile()).replaceAll(/\s+/g, ' ');

const quoted = (name: string): string =>
  name
    .split('.')
    .map((part) => `"${part}"`)
    .join('.');

/** Removes parentheses, assertions and `satisfies`. */
function bare(node: Expression): Expression {
  return isParenthesizedExpression(node) ||
    isAsExpression(node) ||
    isSatisfiesExpression(node) ||
    isNonNullExpression(node)
    ? bare(node.expression)
    : node;
}

/** Returns whether the statement around a call mentions `rows`, as `const { rows } = await pool.query(…)` does. */
function readsRows(call: CallExpression): boolean {
  let around: Node = call;
  while (around.parent && !/Statement$|^VariableDeclaration$/.test(SyntaxKind[around.kind]))
    around = around.parent;
  return /\brows\b/.test(textOf(around));
}

function branchesOf(node: Expression): Expression[] {
  const plain = bare(node);
  return isConditionalExpression(plain)
    ? [...branchesOf(plain.whenTrue), ...branchesOf(plain.whenFalse)]
    : [plain];
}

function propertiesOf(node: Expression): Expression[] {
  const plain = bare(node);
  if (!isObjectLiteralExpression(plain)) throw new Error(`${textOf(node)} is not an object literal`);
  return plain.properties.filter(isPropertyAssignment).map(({ initializer }) => initializer as Expression);
}

function namesOf(node: Expression): string[] {
  const plain = bare(node);
  if (!isObjectLiteralExpression(plain)) throw new Error(`${textOf(node)} is not an object literal`);
  return plain.properties.filter(isPropertyAssignment).map(({ name }) => textOf(name));
}

function memberOf(node: ObjectLiteralExpression, name: string): Expression | undefined {
  for (const property of node.properties) {
    if (isPropertyAssignment(property) && textOf(property.name) === name)
      return property.initializer as Expression;
    if (isShorthandPropertyAssignment(property) && textOf(property.name) === name)
      return property.name as Expression;
  }
  return undefined;
}

/** Returns every variant of every part at least once, not every combination. */
function zip(parts: readonly Variant[][]): Variant[] {
  if (parts.some((variants) => variants.length === 0)) throw new Error('one of its fragments has no text');
  const count = Math.max(...parts.map((variants) => variants.length));
  return Array.from({ length: count }, (_, index) =>
    parts.flatMap((variants) => variants[index % variants.length] as Variant),
  );
}

function render(variant: Variant): Pick<Statement, 'text' | 'parameters'> {
  const parameters: Parameter[] = [];
  const text = variant
    .map((part) => (typeof part === 'string' ? part : `$${parameters.push(part)}`))
    .join('');
  return { text, parameters };
}
