import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ProgramResult } from '../spawner/program-runner.ts'
import { FakeRunner } from '../spawner/testing/fake-runner.ts'
import { openIptables } from './command-iptables.ts'

const VERSION = 'iptables v1.8.9 (nf_tables)\n'

async function opened(answer: Partial<ProgramResult>, version = VERSION) {
  const runner = new FakeRunner((job) =>
    job.args[0] === '--version' ? { stdout: version } : answer,
  )
  return { runner, iptables: await openIptables({ runner }) }
}

test.each([
  ['iptables v1.8.9 (nf_tables)\n', 'nft', '1.8.9'],
  ['iptables v1.8.9 (legacy)\n', 'legacy', '1.8.9'],
  ['iptables v1.6.1\n', 'legacy', '1.6.1'],
])('recognises %j', async (text, backend, version) => {
  expect((await opened({}, text)).iptables).toMatchObject({ backend, version })
})

test('without iptables the error names the package to install', async () => {
  const runner = new FakeRunner(() => ({ status: 127, stderr: 'sh: iptables: not found\n' }))
  const opening = openIptables({ runner })
  await expect(opening).rejects.toMatchObject({
    code: 'NP_KERNEL_IPTABLES',
    hint: expect.stringContaining('install') as unknown,
  })
})

test('the configured variant and the family determine the program', async () => {
  const runner = new FakeRunner(() => ({ stdout: 'iptables v1.8.9 (legacy)' }))
  const iptables = await openIptables({ runner, backend: 'legacy' })
  await iptables.restore(6, 'COMMIT\n')
  await iptables.save(4, 'nat')
  await iptables.listChain(6, 'nat', 'NP-A')
  expect(runner.jobs.map((job) => [job.program, ...job.args].join(' '))).toEqual([
    'iptables-legacy --version',
    'ip6tables-legacy-restore --noflush -w 5',
    'iptables-legacy-save -t nat',
    'ip6tables-legacy -w 5 -t nat -S NP-A',
  ])
})

test('an old iptables gets the option to poll its lock more often than once a second', async () => {
  const { runner, iptables } = await opened({}, 'iptables v1.8.4 (legacy)')
  await iptables.restore(4, '')
  expect(runner.jobs.at(-1)?.args).toEqual(['--noflush', '-w', '5', '-W', '100000'])
})

test('saved chains are read with or without counters, and those that are not kept are left out', async () => {
  const stdout = `# Generated
*nat
:PREROUTING ACCEPT [12:720]
:NP-A - [0:0]
:NP-EMPTY - [0:0]
:OTHER - [0:0]
-A PREROUTING -j NP-A
[3:180] -A NP-A -p tcp -j RETURN
-A NP-A
-A OTHER -j RETURN
COMMIT
`
  const { iptables } = await opened({ stdout })
  const { chains } = await iptables.save(4, 'nat', { keep: (chain) => chain !== 'OTHER' })
  expect(Object.fromEntries(chains)).toEqual({
    PREROUTING: { policy: 'ACCEPT', rules: ['-j NP-A'] },
    'NP-A': { policy: undefined, rules: ['-p tcp -j RETURN', ''] },
    'NP-EMPTY': { policy: undefined, rules: [] },
  })
})

const LOCK =
  'Another app is currently holding the xtables lock; still 0s time ahead to have a chance'

test.each([
  [
    { status: 1, stderr: 'iptables-restore: line 4 failed\n' },
    { kind: 'refused', line: 4, commits: 1 },
  ],
  [
    {
      status: 2,
      stderr:
        "iptables-restore v1.8.9 (nf_tables): Chain 'X' does not exist\nError occurred at line: 6\nTry `iptables-restore -h'\n",
    },
    {
      kind: 'refused',
      line: 6,
      commits: 2,
      message:
        "iptables-restore v1.8.9 (nf_tables): Chain 'X' does not exist; Error occurred at line: 6",
    },
  ],
  [
    {
      status: 4,
      stderr:
        'iptables-restore v1.8.9 (nf_tables): \nline 5: CHAIN_DEL failed (Device or resource busy): chain NP-C\n',
    },
    { kind: 'refused', line: 5, commits: 2 },
  ],
  [
    { status: 1, stderr: 'iptables-restore: COMMIT expected at line 7\n' },
    { kind: 'refused', line: 7 },
  ],
  [
    { status: 4, stderr: LOCK },
    { kind: 'locked', commits: undefined },
  ],
  [
    { status: 143, timedOut: true },
    { kind: 'timeout', commits: undefined, message: 'exit status 143' },
  ],
  [{ status: 127, stderr: 'sh: 1: iptables-restore: not found' }, { kind: 'missing' }],
  [
    {
      status: 3,
      stderr:
        "can't initialize iptables table `nat': Table does not exist (do you need to insmod?)",
    },
    { kind: 'missing' },
  ],
])('a failure is described: %j', async (answer, expected) => {
  const { iptables } = await opened(answer)
  const chunks = ['*nat\nCOM', 'MIT\n*nat', '\nCOMMIT\n-A COMMIT\nCOMMIT\n']
  expect(await iptables.restore(4, chunks)).toMatchObject({ ok: false, ...expected })
})

test('a message is one bounded line without control characters', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 500 }), async (stderr) => {
      const { iptables } = await opened({ status: 2, stderr })
      const result = await iptables.restore(4, '')
      expect(result.ok ? '' : result.message).toMatch(/^[\x20-\x7e]{1,300}$/)
    }),
  )
})
