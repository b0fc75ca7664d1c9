import { describe, expect, it } from 'vitest'
import { describeFault } from '../lib/yaml.ts'
import { parseFlags } from './flags.ts'
import { settingsTable } from './table.ts'
import { SERVER_TABLE } from './testing/server.ts'

function line(...args: string[]) {
  const result = parseFlags(SERVER_TABLE, args)
  if (!result.ok) throw new Error(describeFault(result.problem))
  return result.line
}

describe('parseFlags', () => {
  it('gives settings by path, in order, deprecated flags among them', () => {
    const args = ['--timeout=5s', '--port', '81', '--require_tls', '--clients=10.0.0.0/8']
    expect(line(...args).settings).toEqual([
      { path: 'listen.timeout', flag: 'timeout', text: '5s' },
      { path: 'listen.address', flag: 'port', text: '81' },
      { path: 'listen.tls.required', flag: 'require-tls', text: 'true' },
      { path: 'clients', flag: 'clients', text: '10.0.0.0/8' },
    ])
  })

  it.each([
    [[], { config: undefined, version: false }],
    [['--config=a', '--config', 'b'], { config: 'b', version: false }],
    [['--config='], { config: undefined, version: false }],
    [['--version'], { config: undefined, version: true }],
    [['--version=maybe', '--version=False'], { config: undefined, version: false }],
  ])('%j requests %j', (args, commands) => {
    expect(line(...args).commands).toEqual(commands)
  })

  it('keeps every value of a repeated flag, empty ones too', () => {
    const flags = { tag: { value: 'text', isRepeated: true, doc: '' } } as const
    const table = settingsTable({ ...SERVER_TABLE, commandFlags: flags })
    const tags = (...args: string[]): unknown => {
      const result = parseFlags(table, args)
      return result.ok && result.line.commands.tag
    }
    expect(tags('--tag=b,c', '--tag', 'a', '--tag=', '--tag=a')).toEqual(['b,c', 'a', '', 'a'])
    expect(tags()).toEqual([])
  })

  it('names each ignored flag once', () => {
    expect(line('--color', '--color=red').ignored).toEqual(['color'])
  })

  it.each([
    ['--tmeout=1s', /^--tmeout: unknown flag; did you mean --timeout\?$/],
    ['--prot=1', /did you mean --port\?$/],
    ['--zzz', /^--zzz: unknown flag; see --help/],
    ['--timeout', /^--timeout: needs a value$/],
    ['--version=maybe', /^--version: "maybe": write nothing, true or false$/],
    ['start', /too many arguments.*Every flag starts with --\.$/],
    ['--constructor', /^--constructor: unknown flag/],
  ])('explains %s', (arg, message) => {
    const result = parseFlags(SERVER_TABLE, [arg])
    expect(result).toMatchObject({ ok: false, problem: { code: 'FLAG' } })
    expect(result.ok ? '' : describeFault(result.problem)).toMatch(message)
  })
})
