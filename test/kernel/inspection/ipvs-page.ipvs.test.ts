import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deployAll } from '../../support/flows/deploy.ts'
import { backendProgram } from '../../support/lab/daemon-config.ts'
import { useLab } from '../../support/lab/use-lab.ts'
import { blockOf, spanOf } from '../../support/pages/page-section.ts'

/** The commands of docs/operate/ipvs.md, on a node that serves in that mode. */
const lab = useLab()
const VIP = '172.30.64.1'
const EMPTY = '172.30.64.2'
const BACKEND = '10.180.2.1'

/** The iptables of a node is the variant that node-proxy uses. */
const programs = mkdtempSync(join(tmpdir(), 'np-variant-'))

beforeAll(async () => {
  symlinkSync(`/usr/sbin/${backendProgram('iptables-save')}`, join(programs, 'iptables-save'))
  await deployAll(lab(), [
    { key: 'shop/web', clusterIP: VIP, endpoints: [{ ip: BACKEND, node: 'far' }] },
    { key: 'shop/empty', clusterIP: EMPTY, endpoints: [] },
  ])
  await lab().connect('pod', { source: '10.0.0.2', destination: VIP, port: 80 })
})
afterAll(() => rmSync(programs, { recursive: true }))

function run(script: string): Promise<string> {
  return lab().node.namespace.exec(['sh', '-euc', `PATH=${programs}:$PATH\n${script}`])
}

test('how packets get there', async () => {
  const shown = await run(blockOf('ipvs.md', 'How packets get there', 0))
  expect(shown).toMatch(new RegExp(`^TCP +${VIP}:80 rr\\s+-> ${BACKEND}:80 +Masq +1 `, 'm'))
  expect(shown).toMatch(new RegExp(`^TCP .* 10\\.0\\.0\\.2:\\d+ +${VIP}:80 +${BACKEND}:80$`, 'm'))
  expect(shown).toMatch(new RegExp(`Name: NPVS-4-SERVICES[^]*${VIP},tcp:80[^]*NPVS-4-REJECT`))
  expect(shown).toMatch(new RegExp(`Name: NPVS-4-REJECT[^]*${EMPTY},tcp:80`))
  expect(shown).toMatch(/^-A PREROUTING .*-j NPVS-/m)
  expect(shown).toMatch(/lookup 28272$[^]*^local /m)
})

test('what the kernel counts', async () => {
  expect(await run(spanOf('ipvs.md', 'ipvsadm -Ln --stats'))).toMatch(
    new RegExp(`^TCP +${VIP}:80 +1 `, 'm'),
  )
})

test('what others delete is repaired', async () => {
  await run(spanOf('ipvs.md', 'ipvsadm -C'))
  const servers = () => run('ipvsadm -Ln')
  await expect.poll(servers, { timeout: 60_000 }).toContain(`-> ${BACKEND}:80`)
})
