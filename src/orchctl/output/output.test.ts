import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { documentText, yamlText } from './documents.ts'
import { outputFormat } from './output-format.ts'
import { columns } from './server-table.ts'
import { customCells, parseCustomColumns } from './template-format.ts'

const EVIL = 'a\u001b[31mb\u009bc\u202ed\re'

test('columns stand in line, and control nothing', () => {
  const text = columns([
    ['NAME', 'AGE'],
    ['a-long-name', '1d'],
    [EVIL, '2d'],
  ])
  expect(text).toBe(
    'NAME                                   AGE\na-long-name                            1d\na\\u001b[31mb\\u009bc\\u202ed\\re   2d\n'.replace(
      /^(NAME|a-long-name) +/gm,
      (found) => found.trim().padEnd('a\\u001b[31mb\\u009bc\\u202ed\\re'.length + 3),
    ),
  )
})

test('YAML reads back as the same, and holds no control characters', async () => {
  const texts = [
    'yes',
    '0x1F',
    '1e3',
    'null',
    '~',
    'a\nb\n',
    '  x',
    '2020-01-01',
    '',
    'x: y',
    '012',
    '- x',
    EVIL,
  ]
  const text = await yamlText({ b: texts, a: 1 })
  expect(parse(text)).toEqual({ a: 1, b: texts })
  for (const character of ['\u001b', '\u009b', '\u202e', '\r']) {
    expect(text).not.toContain(character)
  }
  expect(text.startsWith('a: 1\n')).toBe(true)
})

test('JSON is escaped for a terminal only, and is the same value', async () => {
  const object = { kind: 'A', text: EVIL }
  const format = { type: 'json' } as const
  const shown = await documentText(format, object, { isTerminal: true })
  expect(shown).not.toMatch(/[\u009b\u202e]/)
  expect(JSON.parse(shown)).toEqual(object)
  expect(await documentText(format, object, { isTerminal: false })).toContain('\u202e')
})

test('managed fields are hidden unless they are wanted', async () => {
  const object = { kind: 'A', metadata: { name: 'x', managedFields: [{ manager: 'm' }] } }
  const options = { isTerminal: false }
  expect(await documentText({ type: 'json' }, object, options)).not.toContain('manager')
  const all = { ...options, showManagedFields: true }
  expect(await documentText({ type: 'json' }, object, all)).toContain('manager')
})

test('custom columns', () => {
  const spec = parseCustomColumns("NAME:.metadata.name,PORTS:{.ports[*].p},X:.m['a','b'],NO:.none")
  const object = { metadata: { name: 'web' }, ports: [{ p: 1 }, { p: 2 }], m: { a: 'x', b: 'y' } }
  expect(spec.map(({ name }) => name)).toEqual(['NAME', 'PORTS', 'X', 'NO'])
  expect(customCells(spec, object)).toEqual(['web', '1,2', 'x,y', '<none>'])
})

test.each([
  ['jsn', /did you mean json/],
  ['jsonpath={.a', /cannot be read: .* at character/],
  ['custom-columns=NAME', /a name and a path are missing/],
  ['jsonpath-file=/no/such', /cannot be read: ENOENT/],
])('-o %s is refused', async (text, message) => {
  await expect(outputFormat(text)).rejects.toMatchObject({
    code: 'NP_ORCHCTL_USAGE',
    message: expect.stringMatching(/./),
  })
  const error = await outputFormat(text).catch((refusal: unknown) => refusal)
  expect(`${String(error)} ${String((error as { hint?: string }).hint)}`).toMatch(message)
})
