import { expect, test } from 'vitest'
import type { Json } from '../../lib/json.ts'
import { evaluate, expand } from './evaluate-template.ts'
import { parseSinglePath, parseTemplate, TemplateError } from './parse-template.ts'

const DOCUMENT: Json = {
  kind: 'List',
  items: [
    {
      name: 'a',
      n: 1,
      ports: [
        { name: 'x', port: 80 },
        { name: 'y', port: 443 },
      ],
      'k.io/z': 'q',
    },
    { name: 'b', n: 2, ports: [{ name: 'x', port: 81 }], on: true, none: null },
  ],
}

test.each([
  ['text', 'text'],
  ['{.kind}', 'List'],
  ['{.items[*].name}', 'a b'],
  ['{.items[0].name}', 'a'],
  ['{.items[-1].name}', 'b'],
  ['{.items[0:1].name}', 'a'],
  ["{.items[0]['name','n']}", 'a 1'],
  ['{.items[0].k\\.io/z}', 'q'],
  ["{.items[0]['k.io/z']}", 'q'],
  ['{.items[?(@.name=="b")].n}', '2'],
  ['{.items[?(@.n>1)].name}', 'b'],
  ['{.items[?(@.n<=1)].name}', 'a'],
  ['{.items[?(@.on)].name}', 'b'],
  ["{.items[*].ports[?(@.name!='x')].port}", '443'],
  ['{range .items[*]}{.name}:{.ports[0].port}{"\\n"}{end}', 'a:80\nb:81\n'],
  ['{range .items[*]}{range .ports[*]}{.port},{end};{end}', '80,443,;81,;'],
  ['{range .items[*]}{$.kind} {end}', 'List List '],
  ['{..port}', '80 443 81'],
  ['{.items[0].ports[0]}', '{"name":"x","port":80}'],
  ['{.items[1].on} {.items[1].none}', 'true null'],
  ['{.missing.deeply}', ''],
  ['{.items[9].name}', ''],
  ["{'quoted'}", 'quoted'],
])('%s', (template, text) => {
  expect(expand(parseTemplate(template), DOCUMENT)).toBe(text)
})

test.each([
  '{.a',
  '{range .a}',
  '{end}',
  '{.a[}',
  '{.a[-]}',
  '{.a[1:-]}',
  '{.a[?(@.b==)]}',
  '{.a[?(@.b==constructor)]}',
  '{"x}',
  '{.a b}{',
  '{+}',
])('%s is refused', (template) => {
  expect(() => parseTemplate(template)).toThrow(TemplateError)
})

test.each(['.metadata.name', 'metadata.name', '{.metadata.name}'])('%s is one path', (text) => {
  const object = { metadata: { name: 'web' } }
  expect(evaluate(parseSinglePath(text), object, object)).toEqual(['web'])
})

test('a path never reads what objects inherit', () => {
  expect(expand(parseTemplate('{.constructor}{.__proto__}{.toString}'), {})).toBe('')
})
