// Writes the API reference in client/README.md from the doc comments of what client/index.ts exports.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Comment, type Node, parseSync } from 'oxc-parser';

const README = 'client/README.md';
/** The reference stands between this heading and the end of the file. */
const HEADING = '## API reference\n';

/** client/README.md with the reference that the code has now. */
export const readmeWithReference = (): string =>
  `${readFileSync(README, 'utf8').split(HEADING)[0]}${HEADING}\n${reference()}`;

/** The modules in the order of the reference. */
const ORDER = ['plant-store', 'connection', 'plant', 'watch', 'errors', 'json'].map((name) => `./${name}.ts`);

/** The exports as Markdown. */
function reference(): string {
  const { program } = fileOf('index.ts');
  return program.body
    .filter((node) => node.type === 'ExportNamedDeclaration')
    .sort((a, b) => ORDER.indexOf(a.source!.value) - ORDER.indexOf(b.source!.value))
    .flatMap((node) => {
      const file = fileOf(node.source!.value);
      return node.specifiers.map(({ local }) => sectionOf(file, 'name' in local ? local.name : local.value));
    })
    .join('\n');
}

type File = ReturnType<typeof fileOf>;

function fileOf(name: string) {
  const text = readFileSync(join('client', name), 'utf8');
  const { program, comments } = parseSync(name, text);
  return { text, program, comments };
}

function sectionOf(file: File, name: string): string {
  for (const node of file.program.body) {
    const declared = node.type === 'ExportNamedDeclaration' ? node.declaration : undefined;
    if (declared && 'id' in declared && declared.id && 'name' in declared.id && declared.id.name === name)
      return `### ${name}\n\n${docBefore(file, node)}\n\n${contentOf(file, declared)}`;
  }
  throw new Error(`client/index.ts exports ${name}, which no declaration has`);
}

function contentOf(file: File, declared: Node): string {
  if (declared.type !== 'ClassDeclaration') return code(signatureOf(file, declared));
  const base = declared.superClass ? ` extends ${textOf(file, declared.superClass)}` : '';
  const fields = declared.body.body.filter((member) => isPublic(member) && member.type === 'PropertyDefinition');
  const methods = declared.body.body.filter((member) => isPublic(member) && member.type === 'MethodDefinition');
  const told = fields.filter((member) => !/^override/.test(textOf(file, member)));
  const shape = told.map((member) => `  ${textOf(file, member)}\n`).join('');
  const head = `class ${declared.id!.name}${base} {${shape && '\n'}${shape}}`;
  return [
    ...(base === '' && told.length === 0 ? [] : [code(head)]),
    ...methods
      .filter((member) => docBefore(file, member) !== '')
      .map((member) => `${code(signatureOf(file, member))}\n${docBefore(file, member)}\n`),
  ].join('\n');
}

const isPublic = (member: Node): boolean => !('key' in member && member.key.type === 'PrivateIdentifier');

/** The declaration, without the body of a function. */
function signatureOf(file: File, node: Node): string {
  const value = node.type === 'MethodDefinition' ? node.value : node;
  const isFunction = value.type === 'FunctionExpression' || value.type === 'FunctionDeclaration';
  const end = isFunction && value.body ? value.body.start : node.end;
  return file.text
    .slice(node.start, end)
    .trim()
    .replace(/^async /, '')
    .replaceAll(/^ {2}(?= )/gm, isFunction ? '' : '  ');
}

const textOf = (file: File, node: Node): string => file.text.slice(node.start, node.end);

const code = (text: string): string => `\`\`\`ts\n${text}\n\`\`\`\n`;

/** The doc comment right in front of a node, as one paragraph. Empty if there is none. */
function docBefore({ text, comments }: File, node: Node): string {
  const isBefore = ({ type, value, end }: Comment) =>
    type === 'Block' && value.startsWith('*') && end <= node.start && text.slice(end, node.start).trim() === '';
  const found = comments.find(isBefore);
  return (found?.value ?? '')
    .replaceAll(/^\s*\*+ ?/gm, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

if (import.meta.main) writeFileSync(README, readmeWithReference());
