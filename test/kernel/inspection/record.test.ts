import { execFile } from 'node:child_process'
import { chownSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readBundle } from '../../../src/nodeproxy/commands/bundle-file.ts'
import { type Deployment, deploy } from '../../support/flows/deploy.ts'
import { LAUNCHER, nodeCommand } from '../../support/inspection/node-command.ts'
import { useLab } from '../../support/lab/use-lab.ts'
import { asUser } from '../../support/other-user.ts'

/** What is recorded on the lab's node is explained in the machine's own network, without root. */
const lab = useLab()
const exec = promisify(execFile)
/** Connections come and go too fast to be recorded; no test has one here. */
const UNRECORDED = 'Connections: not known: connections are not recorded\n\n'
/** A user without any rights. */
const USER = 65_534

let folder: string
let file: string
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'np-record-'))
  chownSync(folder, USER, USER)
  file = join(folder, 'node.tar.gz')
  await lab().reset()
  await lab().site('pod', '10.0.0.2')
})
afterEach(() => rmSync(folder, { recursive: true }))

const TWO: Deployment = {
  key: 'ns/two',
  clusterIP: '172.30.41.1',
  endpoints: [{ ip: '10.180.0.1' }, { ip: '10.180.2.1', node: 'far' }],
}

async function elsewhere(...words: readonly string[]) {
  chownSync(file, USER, USER)
  const [program = '', ...rest] = asUser(USER, [LAUNCHER, 'explain', '--from', file, ...words])
  return exec(program, rest).then(
    ({ stdout }) => ({ code: 0, stdout, stderr: '' }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  )
}

test.each([
  [['10.0.0.2', 'ns/two'], 0],
  [['10.0.0.2', '172.30.41.1:80'], 0],
  [['node', '172.30.41.1:80'], 0],
  [['203.0.113.2', '172.30.41.1:80'], 0],
  [['10.0.0.2', 'ns/none'], 1],
  [['10.0.0.2', '172.30.41.99:80'], 0],
] as const)('%j is explained as on the node', async (words, code) => {
  await deploy(lab(), TWO)
  expect(await nodeCommand(lab(), 'record', file)).toMatchObject({ code: 0 })
  const here = await nodeCommand(lab(), 'explain', ...words)
  const there = await elsewhere(...words)
  const countless = (text: string) => text.replaceAll(/ \[\d+ packets so far\]/g, '')
  const [before = '', after = ''] = there.stdout.split(UNRECORDED)
  expect(there.stdout.includes(UNRECORDED)).toBe(code === 0)
  expect(countless(before + after)).toBe(countless(here.stdout))
  expect([here.code, there.code, here.stderr.length > 0]).toEqual([code, code, code !== 0])
})

test('without node-proxy the kernel alone is recorded: exit code 1, and the reason', async () => {
  await deploy(lab(), TWO)
  lab().daemon.signal('SIGSTOP')
  await lab().node.namespace.exec(['iptables', '-t', 'nat', '-F', 'PREROUTING'])
  const recorded = await lab().node.namespace.exec(
    [
      'sh',
      '-c',
      '"$@" 2>&1; echo "exit $?"',
      'sh',
      LAUNCHER,
      'record',
      file,
      '--socket=/none.sock',
    ],
    { timeoutMs: 60_000 },
  )
  lab().daemon.signal('SIGCONT')
  expect(recorded).toMatch(/not recorded: node-proxy itself: .*\/none\.sock/)
  expect(recorded).toMatch(/exit 1\n?$/)
  const { stdout } = await elsewhere('10.0.0.2', '172.30.41.1:80')
  expect(stdout).toContain('not known: node-proxy itself was not recorded')
  expect(stdout).not.toContain('10.180.0.1:80 gets it')
})

test('the files are named, readable, and without secrets', async () => {
  await deploy(lab(), TWO)
  const token = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl'
  const comment = ['-m', 'comment', '--comment', token]
  await lab().node.namespace.exec(['iptables', '-A', 'INPUT', '-s', '192.0.2.9', ...comment])
  const { stdout } = await nodeCommand(lab(), 'record', file, '-o', 'json')
  const files = await readBundle(file)
  expect(JSON.parse(stdout)).toMatchObject({ file, files: files.size, missing: [] })
  expect([...files.keys()]).toEqual(
    expect.arrayContaining([
      'README.txt',
      'versions.json',
      'node-proxy/status.json',
      'node-proxy/metrics.txt',
      'node-proxy/configuration.json',
      'node-proxy/desired.jsonl',
      'kernel/commands.json',
    ]),
  )
  expect(files.get('node-proxy/metrics.txt')).toContain('# TYPE')
  expect(JSON.parse(files.get('node-proxy/configuration.json') ?? '')).toBeTypeOf('object')
  const all = [...files.values()].join('\n')
  expect(all).toContain('-s 192.0.2.9/32')
  expect(all).not.toContain(token)
  const again = await nodeCommand(lab(), 'record', file)
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('EEXIST') })
})
