import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { describeFault } from '../lib/yaml.ts'
import { parseFlags } from './flags.ts'
import { loadConfiguration } from './load.ts'
import {
  compareConfigurations,
  configurationObject,
  configurationYaml,
  configzBody,
} from './settings.ts'
import { SERVER_TABLE } from './testing/server.ts'

const HEAD = 'apiVersion: server.example/v1\nkind: ServerConfiguration\n'

async function load(text: string | undefined, ...args: string[]) {
  const flags = parseFlags(SERVER_TABLE, args)
  if (!flags.ok) throw new Error(describeFault(flags.problem))
  const file = text === undefined ? undefined : { name: 's.yaml', text }
  return loadConfiguration(SERVER_TABLE, file, flags.line)
}

async function loaded(text: string | undefined, ...args: string[]) {
  const result = await load(text, ...args)
  if (!result.ok) throw new Error(result.problems.map(describeFault).join('\n'))
  return result
}

async function problems(text: string | undefined, ...args: string[]) {
  const result = await load(text, ...args)
  return result.ok ? [] : result.problems.map((one) => `${one.code} ${describeFault(one)}`)
}

describe('loadConfiguration', () => {
  it('gives defaults', async () => {
    expect(await loaded(undefined)).toEqual({
      ok: true,
      config: {
        role: 'main',
        listen: { address: undefined, timeout: 30_000, tls: { required: false } },
        clients: [],
      },
      settings: new Map(),
      warnings: [],
    })
  })

  it('lets flags beat the file and the file beat defaults, and says so', async () => {
    const text = `${HEAD}role: spare\nlisten:\n  timeout: 5s\n`
    const { config, settings } = await loaded(text, '--timeout=6s')
    const shown = JSON.parse(configzBody(SERVER_TABLE, config, settings))
    expect(shown).toEqual({
      config: configurationObject(SERVER_TABLE, config),
      origins: {
        role: 'file s.yaml:3:7',
        'listen.address': 'default',
        'listen.timeout': 'flag --timeout',
        'listen.tls.required': 'default',
        clients: 'default',
      },
    })
    expect(shown.config.listen.timeout).toBe('6s')
  })

  it('derives the defaults of values that are not set', async () => {
    const tls = ['--require-tls', '--listen-address=0.0.0.0:1']
    expect((await loaded(undefined, ...tls)).config.listen.timeout).toBe(60_000)
    expect((await loaded(undefined, ...tls, '--timeout=30s')).config.listen.timeout).toBe(30_000)
  })

  it('adds up list flags; of any other the last counts', async () => {
    const lists = ['--clients=', '--clients=10.0.0.0/8', '--clients=fd00::/8,10.0.0.0/8']
    const { config } = await loaded(undefined, ...lists, '--timeout=1s', '--timeout=2s')
    expect(config).toMatchObject({
      clients: ['10.0.0.0/8', 'fd00::/8'],
      listen: { timeout: 2_000 },
    })
  })

  it.each([
    [['--port=7'], { ip: '0.0.0.0', port: 7 }],
    [['--role=spare', '--port=7'], { ip: '127.0.0.2', port: 7 }],
    [['--port=6', '--port=7'], { ip: '0.0.0.0', port: 7 }],
    [['--port=7', '--listen-address=10.0.0.1'], { ip: '10.0.0.1', port: 80 }],
    [['--listen-address=10.0.0.1', '--port=7'], { ip: '10.0.0.1', port: 80 }],
  ])('%j listens at %j', async (args, address) => {
    expect((await loaded(undefined, ...args)).config.listen.address).toEqual(address)
  })

  it('warns of ignored and deprecated flags', async () => {
    const { warnings } = await loaded(undefined, '--color', '--port=9')
    expect(warnings.map((one) => `${one.code} ${describeFault(one)}`)).toEqual([
      'FLAG --port: deprecated; use --listen-address',
      'FLAG --color: ignored: nothing is coloured',
    ])
  })

  it('collects problems of file and flags', async () => {
    expect(await problems(`${HEAD}role: x\n`, '--timeout=0s', '--port=x')).toEqual([
      'VALUE s.yaml:3:7: role: "x": write one of main, spare',
      'FLAG --timeout: "0s": write at least 1ms',
      expect.stringMatching(/^FLAG --port: "x": write IP:port/),
    ])
  })

  it('shows a conflict where one of the values is set', async () => {
    const message = 'TLS needs listen.address; set it'
    expect(await problems(undefined, '--require-tls')).toEqual([
      `CONFLICT --require-tls: true: ${message}`,
    ])
    expect(await problems(`${HEAD}listen: {tls: {required: true}}\n`)).toEqual([
      `CONFLICT s.yaml:3:26: listen.tls.required: true: ${message}`,
    ])
  })
})

describe('a written configuration', () => {
  it('reads back as itself, whatever was set', async () => {
    const written = fc.record({
      role: fc.constantFrom('main', 'spare'),
      timeout: fc.integer({ min: 1, max: 1e9 }),
      address: fc.constantFrom('', '[::]:80', '10.0.0.1'),
      clients: fc.constantFrom('', '10.0.0.0/8,fd00::/8'),
    })
    await fc.assert(
      fc.asyncProperty(written, async ({ role, timeout, address, clients }) => {
        const { config } = await loaded(
          undefined,
          `--role=${role}`,
          `--timeout=${timeout}ms`,
          `--clients=${clients}`,
          `--listen-address=${address}`,
        )
        const again = await loaded(await configurationYaml(SERVER_TABLE, config))
        expect(again.config).toEqual(config)
      }),
      { numRuns: 50 },
    )
  })
})

describe('compareConfigurations', () => {
  it('distinguishes live changes from those that need a new start', async () => {
    const { config: running } = await loaded(undefined)
    const { config: next } = await loaded(
      undefined,
      '--role=spare',
      '--clients=::/0',
      '--listen-address=::1',
      '--require-tls',
    )
    expect(compareConfigurations(SERVER_TABLE, running, structuredClone(running))).toEqual({
      live: [],
      restart: [],
    })
    expect(compareConfigurations(SERVER_TABLE, running, next)).toEqual({
      live: ['listen.timeout', 'listen.tls.required', 'clients'],
      restart: ['role', 'listen.address'],
    })
  })
})
