import { expect, test } from 'vitest'
import { StatusError } from '../status/status.ts'
import { parseYaml } from './yaml.ts'

function parse(text: string | Buffer) {
  const parsed = parseYaml(Buffer.from(text as string), 500)
  return parsed instanceof StatusError ? `${parsed.status.code} ${parsed.status.message}` : parsed
}

test('YAML and JSON are read alike', () => {
  const expected = { metadata: { name: 'web', labels: { on: 'yes', n: '1' } }, ports: [80, 81] }
  expect(parse(JSON.stringify(expected))).toEqual(expected)
  expect(
    parse(
      'metadata: &m {name: web, labels: {"on": "yes", "n": "1"}} # a comment\nports:\n- 80\n- 81\n',
    ),
  ).toEqual(expected)
  expect(parse('nodeport: 030100\nheadless: yes')).toEqual({ nodeport: 12_352, headless: true })
  expect(parse('a: &x {b: 1}\nc: *x')).toEqual({ a: { b: 1 }, c: { b: 1 } })
  expect(JSON.stringify(parse('__proto__: {polluted: 1}'))).toBe('{"__proto__":{"polluted":1}}')
})

const bomb = Array.from({ length: 9 }, (_, level) => {
  const items = Array.from({ length: 9 }, () => (level === 0 ? 'x' : `*a${level - 1}`))
  return `a${level}: &a${level} [${items.join(',')}]\n`
}).join('')

test.each([
  ['an alias bomb', bomb, '400 the body is not valid YAML: Excessive alias count'],
  [
    'few aliases of much text',
    `a: &a "${'x'.repeat(500_000)}"\nb: [*a, *a, *a]`,
    '400 the body is not valid YAML: Excessive alias count',
  ],
  ['open brackets', '['.repeat(200_000), '400 the YAML is nested too deeply'],
  ['nested dashes', `${'- '.repeat(20_000)}a`, '400 the YAML is nested too deeply'],
  ['many commas', `[${','.repeat(300_000)}]`, '413 the YAML has too many parts'],
  ['much text', `a: ${'x'.repeat(1 << 20)}`, '413 YAML is limited to'],
  ['a key twice', 'a: 1\na: 2', '400 the body is not valid YAML: Map keys must be unique'],
  ['two documents', 'a: 1\n---\nb: 2', '400 send one YAML document'],
  ['nothing', '', '400 send one YAML document'],
  ['infinity', 'a: .inf', '400 the body is not valid YAML: it holds a number out of range'],
  ['bad UTF-8', Buffer.from([0x61, 0x3a, 0x20, 0xff]), '400 the body is not valid UTF-8'],
  ['a tab', 'a:\n\t- b', '400 the body is not valid YAML: Tabs'],
])('%s is refused', (_what, text, answer) => {
  expect(parse(text)).toContain(answer)
})
