import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SyntaxNode } from '@lezer/common';
import { parser } from '@lezer/javascript';
import { committed, ROOT } from './files';

const TYPESCRIPT = parser.configure({ dialect: 'ts' });

/** An interface property with its documentation. */
export interface Property {
  readonly name: string;
  readonly type: string;
  readonly optional: boolean;
  readonly meaning: string;
  /** Text of `@default`, without the leading dash that jsii requires before prose. */
  readonly fallback?: string;
}

/** The interfaces that `infra` exports, by name. */
export class Declarations {
  private readonly interfaces = new Map<string, { text: string; node: SyntaxNode }>();

  constructor() {
    for (const file of committed('infra').filter((name) => name.endsWith('.ts'))) {
      const text = readFileSync(join(ROOT, file), 'utf8');
      TYPESCRIPT.parse(text).iterate({
        enter: ({ name, node }) => {
          const id = name === 'InterfaceDeclaration' ? node.getChild('TypeDefinition') : null;
          if (id !== null) this.interfaces.set(text.slice(id.from, id.to), { text, node: node.node });
        },
      });
    }
  }

  /** Returns the properties that an interface itself declares. */
  properties(name: string): Property[] {
    const found = this.interfaces.get(name);
    if (found === undefined) throw new Error(`no interface ${name} is declared in infra`);
    const members = found.node.getChild('ObjectType')?.getChildren('PropertyType') ?? [];
    return members.map((member) => property(found.text, member));
  }
}

function property(text: string, member: SyntaxNode): Property {
  const source = text.slice(member.from, member.to);
  const [, name, mark, type] = /^readonly (\w+)(\??): ([\s\S]+?);?$/.exec(source) ?? [];
  if (name === undefined || type === undefined) throw new Error(`not a readonly property: ${source}`);
  const comment = member.prevSibling;
  if (comment?.name !== 'BlockComment') throw new Error(`${name} has no documentation`);
  const prose = text
    .slice(comment.from + 3, comment.to - 2)
    .replace(/^\s*\* ?/gm, '')
    .replace(/\{@link (?:\w+\.)?(\w+)\}/g, '`$1`');
  const [meaning = '', fallback] = prose.split('@default');
  const paragraph = (part: string) => part.trim().replace(/\s+/g, ' ');
  return {
    name,
    type: type.replace(/\s+/g, ' '),
    optional: mark === '?',
    meaning: paragraph(meaning),
    ...(fallback !== undefined && { fallback: paragraph(fallback).replace(/^- /, '') }),
  };
}
