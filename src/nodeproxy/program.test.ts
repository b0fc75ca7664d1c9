import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { NodeProxyError } from '../lib/error.ts'
import type { Launch } from './config/load.ts'
import { type Daemon, runProgram } from './program.ts'

const HEAD = 'apiVersion: proxy.config.orch.io/v1alpha1\nkind: NodeProxyConfiguration\n'

let folder: string
let out: string
let err: string
let logged: string
let launched: [string, Launch][]
let run: Daemon['runDaemon']

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'main-'))
  out = ''
  err = ''
  logged = ''
  launched = []
  run = async () => 0
})
afterEach(() => rm(folder, { recursive: true }))

function start(...args: string[]) {
  return runProgram(args, {
    stdout: { write: (text) => (out += text) },
    stderr: { write: (text) => (err += text) },
    logStream: { write: (text) => void (logged += text) },
    version: '1.2.3',
    modes: ['iptables'],
    loadDaemon: async () => ({
      runDaemon: (config, launch) => {
        launched.push(['run', launch])
        return run(config, launch)
      },
      cleanUp: async (_config, launch) => {
        launched.push(['clean up', launch])
        return 0
      },
    }),
  })
}

async function file(text: string): Promise<string> {
  const path = join(folder, 'c.yaml')
  await writeFile(path, text)
  return path
}

describe('runProgram', () => {
  it('prints the help and the version without loading the daemon', async () => {
    expect(await start('--help')).toBe(0)
    expect(out).toMatch(/^node-proxy watches .*Exit codes/s)
    out = ''
    expect(await start('--version', '--proxy-mode=nonsense')).toBe(0)
    expect([out, launched]).toEqual(['node-proxy 1.2.3\n', []])
  })

  it('runs the daemon with file and flags', async () => {
    const path = await file(`${HEAD}oomScoreAdj: 5\niptables: {masqueradeBit: 3}\n`)
    run = async () => 1
    expect(await start(`--config=${path}`, '--oom-score-adj=6', '--master=http://x')).toBe(1)
    const [how, launch] = launched[0] ?? []
    expect(how).toBe('run')
    expect(launch?.config).toMatchObject({ oomScoreAdj: 6, iptables: { masqueradeBit: 3 } })
    expect(launch).toMatchObject({
      version: '1.2.3',
      line: { master: 'http://x' },
    })
  })

  it('lets a changed file be checked against the same flags', async () => {
    await start('--oom-score-adj=6')
    const reload = launched[0]?.[1].reload
    const good = await reload?.({ name: 'c', text: `${HEAD}oomScoreAdj: 1\nmode: auto\n` })
    expect(good?.ok && good.config).toMatchObject({ oomScoreAdj: 6, mode: 'auto' })
    expect((await reload?.({ name: 'c', text: 'nonsense' }))?.ok).toBe(false)
  })

  it('cleans up, also where the configured mode is not built', async () => {
    expect(await start('--cleanup', '--proxy-mode=ipvs')).toBe(0)
    expect(launched.map(([how]) => how)).toEqual(['clean up'])
  })

  it.each([
    [['--nonsense'], /^node-proxy: --nonsense: unknown flag.* \(NP_NODEPROXY_FLAG\)\n$/],
    [['--oom-score-adj=x', '--v=y'], /oom-score-adj.*\n.*--v.*\n$/],
    [['--config=/does/not/exist'], /cannot read \/does\/not\/exist: ENOENT; .*CONFIG_UNREADABLE/],
    [['--config=/'], /cannot read \/: EISDIR/],
    [
      ['--proxy-mode=ipvs'],
      /"ipvs" is not part.*one of: iptables, auto \(NP_NODEPROXY_MODE_UNAVAILABLE\)/,
    ],
  ])('%j exits with 2 and says why', async (args, message) => {
    expect(await start(...args)).toBe(2)
    expect(err).toMatch(message)
    expect(launched).toEqual([])
  })

  it('names file, line and column', async () => {
    const path = await file(`${HEAD}mode: x\n`)
    expect(await start(`--config=${path}`)).toBe(2)
    expect(err).toContain(`${path}:3:7: mode: "x":`)
  })

  it('writes the effective configuration', async () => {
    const target = join(folder, 'out.yaml')
    expect(await start('--oom-score-adj=6', `--write-config-to=${target}`)).toBe(0)
    expect(await readFile(target, 'utf8')).toContain('oomScoreAdj: 6\n')
    expect(await start(`--config=${target}`)).toBe(0)
    expect(launched[0]?.[1].config.oomScoreAdj).toBe(6)
    expect(await start(`--write-config-to=${folder}/no/such/folder`)).toBe(1)
    expect(err).toMatch(/NP_NODEPROXY_CONFIG_WRITE/)
  })

  it('logs warnings, and the end when the daemon fails', async () => {
    run = vi.fn().mockRejectedValue(new NodeProxyError('NP_X', 'no luck', { hint: 'do' }))
    expect(await start('--logtostderr')).toBe(1)
    const records = logged
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(records).toEqual([
      expect.objectContaining({ level: 'warn', code: 'NP_NODEPROXY_FLAG' }),
      expect.objectContaining({
        level: 'fatal',
        err: { code: 'NP_X', message: 'no luck', hint: 'do' },
      }),
    ])
  })
})
