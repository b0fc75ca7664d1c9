import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { NodeProxyError } from '../../lib/error.ts'
import type { OrchServerConfiguration } from '../config/configuration.ts'
import { newFolder } from '../testing/new-folder.ts'
import { runProgram } from './program.ts'

const HEAD = 'apiVersion: server.config.orch.io/v1alpha1\nkind: OrchServerConfiguration\n'

let out: string
let err: string
let logged: string
const run = vi.fn<(config: OrchServerConfiguration) => Promise<void>>()
const check = vi.fn<(config: OrchServerConfiguration) => Promise<NodeProxyError | undefined>>()

beforeEach(() => {
  out = ''
  err = ''
  logged = ''
  run.mockReset()
  check.mockReset()
})

function start(...args: string[]) {
  return runProgram(args, {
    stdout: { write: (text) => (out += text) },
    stderr: { write: (text) => (err += text) },
    logStream: { write: (text) => void (logged += text) },
    version: '1.2.3',
    loadServer: async () => ({ checkStart: check, runServer: run }),
  })
}

describe('orch-server', () => {
  it.each([['--help'], ['-h'], ['backup', '--help'], ['restore', 'x', '--help']])(
    '%s %s prints the help',
    async (...args) => {
      expect(await start(...args.filter((arg) => arg !== undefined))).toBe(0)
      expect(out).toMatch(/^orch-server is .*backup FILE.*--data-dir.*Exit codes/s)
    },
  )

  it('names the controllers in the help', async () => {
    await start('--help')
    expect(out.replaceAll(/\s+/g, ' ')).toContain('They are endpoints, endpointslices,')
  })

  it('prints its version', async () => {
    expect(await start('--version')).toBe(0)
    expect(out).toBe('orch-server 1.2.3\n')
  })

  it('serves with file and flags', async () => {
    const file = join(newFolder(), 's.yaml')
    writeFileSync(file, `${HEAD}dataDir: /d\nsecurePort: 1\n`)
    expect(await start(`--config=${file}`, '--secure-port=2')).toBe(0)
    expect(run.mock.calls[0]?.[0]).toMatchObject({ dataDir: '/d', securePort: 2 })
  })

  it('ends with 1 when serving fails', async () => {
    run.mockRejectedValue(new Error('no luck'))
    expect(await start()).toBe(1)
    expect(JSON.parse(logged)).toMatchObject({ level: 'fatal', err: { message: 'no luck' } })
  })

  it('ends with 2 when a start is hopeless, and does not try it', async () => {
    check.mockResolvedValue(new NodeProxyError('NP_X', 'no key', { hint: 'give one' }))
    expect(await start()).toBe(2)
    expect(err).toBe('orch-server: no key; give one (NP_X)\n')
    expect(run).not.toHaveBeenCalled()
  })

  it.each([
    [['--nonsense'], /^orch-server: --nonsense: unknown flag.*\(NP_ORCHSERVER_FLAG\)\n$/],
    [['bakup', 'x'], /bakup: no such command; write backup FILE/],
    [['backup'], /backup: name the file right behind it/],
    [['restore', '--data-dir=x', 'y'], /restore: name the file right behind it/],
    [['backup', 'x', 'y'], /NP_ORCHSERVER_FLAG/],
    [['--replace'], /--replace: is only for restore FILE \(NP_ORCHSERVER_FLAG\)/],
    [['backup', 'x', '--replace'], /--replace: is only for restore FILE/],
    [['--config=/no/such'], /cannot read \/no\/such: ENOENT.*NP_ORCHSERVER_CONFIG_UNREADABLE/],
    [['--oidc-issuer-url=http://id.example'], /write an https URL.*NP_ORCHSERVER_FLAG/],
  ])('%j ends with 2 and an error', async (args, message) => {
    expect(await start(...args)).toBe(2)
    expect(err).toMatch(message)
    expect(run).not.toHaveBeenCalled()
  })

  it('names file, line and column', async () => {
    const file = join(newFolder(), 's.yaml')
    writeFileSync(file, `${HEAD}bindAdress: 127.0.0.1\n`)
    expect(await start(`--config=${file}`)).toBe(2)
    expect(err).toContain(`${file}:3:1: bindAdress: unknown field; did you mean bindAddress?`)
  })

  it('ends with 1 when a backup is refused', async () => {
    expect(await start('backup', join(newFolder(), 'b'), `--data-dir=${newFolder()}`)).toBe(1)
    expect(err).toMatch(/holds no store; check --data-dir \(NP_ORCHSERVER_BACKUP\)\n$/)
  })
})
