import { describe, expect, it } from 'vitest'
import { describeFault } from '../lib/yaml.ts'
import { decodeFile } from './decode-file.ts'
import { SERVER_TABLE } from './testing/server.ts'

const OWN = 'apiVersion: server.example/v1\nkind: ServerConfiguration\n'
const OLD = 'apiVersion: old.example/v1\nkind: OldConfiguration\n'

function decode(text: string) {
  return decodeFile(SERVER_TABLE, { name: 's.yaml', text })
}

function problems(text: string): string[] {
  return decode(text).problems.map((problem) => `${problem.code} ${describeFault(problem)}`)
}

function values(text: string): Record<string, unknown> {
  expect(problems(text)).toEqual([])
  return Object.fromEntries([...decode(text).settings].map(([path, { value }]) => [path, value]))
}

describe('decodeFile', () => {
  it('reads values of every shape, with the place of each', () => {
    const text = `${OWN}role: spare\nlisten:\n  timeout: 5m\n  tls: {required: true}\nclients: [10.0.0.0/8]\n`
    expect(values(text)).toEqual({
      role: 'spare',
      'listen.timeout': 300_000,
      'listen.tls.required': true,
      clients: ['10.0.0.0/8'],
    })
    expect(decode(text).settings.get('listen.tls.required')?.origin).toEqual({
      from: 'file',
      at: { file: 's.yaml', line: 6, column: 19 },
    })
  })

  it('reads JSON', () => {
    const text = '{"apiVersion":"server.example/v1","kind":"ServerConfiguration","role":"spare"}'
    expect(values(text)).toEqual({ role: 'spare' })
  })

  it.each([
    ['role: mian', /^VALUE s\.yaml:3:7: role: "mian": did you mean "main"\?/],
    ['listen:\n  timeout: 30', /^VALUE s\.yaml:4:12: listen\.timeout: 30: write a duration/],
    ['listen:\n  tmeout: 3s', /^FIELD .*4:3: listen\.tmeout: .*did you mean listen\.timeout\?/],
    ['lsten:\n  timeout: 3s', /3:1: lsten: unknown field; did you mean listen\?/],
    ['timeout: 3s', /did you mean listen\.timeout\?/],
    ['zzz: 1', /3:1: zzz: unknown field; remove it/],
    ['<<: 1', /unknown field/],
    ['__proto__: {a: 1}', /unknown field/],
    ['constructor: 1', /unknown field/],
    ['cache: {size: 1}', /^FIELD .*3:1: cache: a field of OldConfiguration only; remove it: there/],
    ['listen:\n  tls: 5m', /4:8: listen\.tls: "5m": write a map of fields/],
    ['listen: 5', /3:9: listen: 5: write a map of fields/],
    ['role: {a: 1}', /3:7: role: write one value, not a map/],
    ['clients: [[1]]', /write a list of plain values/],
    [`clients: [${'1,'.repeat(1_001)}]`, /3:10: clients: write at most 1000 items/],
    ['role: 010', /leading zero/],
    ['role: .inf', /write text, a number/],
    ['role: main\nrole: spare', /^SYNTAX .*4:1: the field stands here for the second time/],
    ['listen:\n\ttimeout: 3s', /4:1: tabs cannot indent YAML/],
    ['---\nrole: main', /3:1: a second document/],
    ['role: "main', /not YAML/],
    ['role: *nowhere', /without its anchor/],
    ['{a: 1}: 2', /not YAML/],
  ])('explains %j', (line, message) => {
    expect(problems(`${OWN}${line}\n`)).toEqual([expect.stringMatching(message)])
  })

  it('reports everything that is wrong at once', () => {
    expect(problems(`${OWN}role: x\nlisten: {timeout: 0s}\nfoo: 1\n`)).toHaveLength(3)
  })

  it.each([
    ['', /^SYNTAX s\.yaml:1:1: write a map of fields/],
    ['- a\n- b', /^SYNTAX s\.yaml:1:1: write a map/],
    ['role: main', /^KIND s\.yaml:1:1: apiVersion: write apiVersion: server.example\/v1 with/],
    ['apiVersion: server.example/v2\nkind: ServerConfiguration', /1:13: apiVersion: "server/],
    ['apiVersion: old.example/v1\nkind: ServerConfiguration', /2:7: kind: "ServerConf/],
    ['apiVersion: [x]\nkind: {}', /1:13: apiVersion: \["x"\]: write .*, or apiVersion: old/],
  ])('refuses a file that is no configuration: %j', (text, message) => {
    expect(problems(text)).toEqual([expect.stringMatching(message)])
  })

  it('cuts long values in messages', () => {
    const [message] = problems(`${OWN}role: ${'x'.repeat(10_000)}\n`)
    expect(message?.length).toBeLessThan(400)
  })

  it('follows an alias to a value', () => {
    expect(values(`${OWN}clients: [&a 10.0.0.0/8, *a]\n`)).toEqual({ clients: ['10.0.0.0/8'] })
    expect(values(`${OLD}cache: &a 5s\nlisten: {timeout: *a}\n`)).toEqual({
      'listen.timeout': 5_000,
    })
  })

  it('means what it says: empty is none, zero is zero, null is the default', () => {
    expect(values(`${OWN}role:\nlisten: {address: ""}\n`)).toEqual({ 'listen.address': undefined })
    expect(problems(`${OWN}role: ""\n`)).toHaveLength(1)
  })
})

describe('a file of another tool', () => {
  it('says "the default" with a zero value, where the field allows it', () => {
    expect(values(`${OLD}role: ""\nlisten: {address: "", tls: {required: false}}\n`)).toEqual({
      'listen.tls.required': false,
    })
  })

  it('warns once for each field that means nothing here and is not empty', () => {
    const text = `${OLD}cache: {size: 0, age: 5}\nlisten: {backlog: 0}\n`
    const { warnings, problems: wrong } = decode(text)
    expect([wrong, warnings.map(({ code, field }) => [code, field])]).toEqual([
      [],
      [['IGNORED', 'cache']],
    ])
  })
})
