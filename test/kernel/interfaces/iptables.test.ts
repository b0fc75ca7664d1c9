import { expect, test } from 'vitest'
import { runInside } from './run-inside.ts'

const refusedAt = (line: number, commits = 0) => ({
  ok: false,
  kind: 'refused',
  line,
  commits,
  pid: true,
})

test.each([
  ['nft', 4],
  ['nft', 6],
  ['legacy', 4],
  ['legacy', 6],
] as const)('iptables (%s, IPv%i) against the kernel', async (backend, family) => {
  const to = family === 4 ? '10.1.0.4:80' : '[fd00::4]:80'
  const from = family === 4 ? '10.1.0.4/32' : 'fd00::4/128'
  const rule = `-d ${from} -p tcp -j DNAT --to-destination ${to}`
  const result = await runInside('iptables.script.ts', { args: [backend, String(family)] })
  expect(result).toMatchObject({
    backend,
    created: { ok: true, commits: 2, pid: true },
    saved: {
      'NP-A': { rules: [rule] },
      'NP-B': { rules: ['-m comment --comment "a \\"b\\" c" -j NP-A'] },
    },
    listed: [rule],
    unlisted: 'undefined',
    unlistedTable: 'undefined',
    referenced: refusedAt(3),
    missingChain: refusedAt(backend === 'nft' ? 3 : 2),
    missingSet: { ...refusedAt(2), message: expect.stringContaining('np-none') as unknown },
    second: refusedAt(6, 1),
    unknownTable: { ok: false, line: 1, commits: 0 },
    unparsable: { ...refusedAt(2), message: expect.stringContaining('--nonsense') as unknown },
    cleaned: { ok: true, commits: 1 },
    left: [],
  })
})
