import { existsSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { deploy } from '../support/flows/deploy.ts'
import { expectFlow } from '../support/flows/expect-flow.ts'
import { createLab, type Lab } from '../support/lab/lab.ts'
import { logged } from '../support/lab/log-lines.ts'
import { sumOf } from '../support/lab/metrics.ts'
import { netState, oursIn } from '../support/lab/net-state.ts'

/** A kernel without IP virtual servers: what is said, and that nothing is half done. */
let lab: Lab
beforeEach(async ({ skip }) => {
  skip(existsSync('/proc/net/ip_vs'), 'this kernel has ip_vs')
  lab = await createLab()
})
afterEach(async () => {
  await lab?.close()
})

/** The exact words depend on what the kernel reports of its modules; see uml/missing-modules. */
const MISSING = {
  level: 'error',
  code: 'NP_IPVS_MODULE_MISSING',
  msg: expect.stringMatching(/\bip_vs\b/),
  remedy: expect.stringMatching(/\bmodprobe ip_vs\b/),
}
const VIP = '172.30.47.1'
const FLOW = { from: 'pod', src: '10.0.0.2', dst: VIP, dport: 80 } as const
const answered = { outcome: 'deliver', endpoints: ['10.180.0.1:80'] } as const

function serve(): Promise<void> {
  return deploy(lab, { key: 'ns/any', clusterIP: VIP, endpoints: [{ ip: '10.180.0.1' }] })
}

test('--proxy-mode=ipvs: one error line per missing thing, exit status 1, nothing left', async () => {
  const before = await netState(lab.node)
  await expect(lab.daemon.start({ flags: ['--proxy-mode=ipvs'] })).rejects.toThrow('ended (1)')
  const lines = logged(lab.daemon)
  const errors = lines.filter(({ level }) => level === 'error')
  expect(errors[0]).toMatchObject(MISSING)
  expect(new Set(errors.map(({ code }) => code))).toEqual(new Set([MISSING.code]))
  const unmet = errors.length === 1 ? '1 requirement is' : `${errors.length} requirements are`
  expect(lines.at(-1)).toMatchObject({
    level: 'fatal',
    msg: 'node-proxy ends',
    err: {
      code: MISSING.code,
      message: `mode ipvs cannot work here: ${unmet} not met`,
      hint: MISSING.remedy,
    },
  })
  expect(await netState(lab.node)).toEqual(before)
})

test('what an earlier daemon programmed in iptables mode is left as it is', async () => {
  await lab.daemon.start({ config: { mode: 'iptables' } })
  await serve()
  await lab.daemon.kill()
  const before = await netState(lab.node)
  expect(oursIn(before, 'iptables')).not.toEqual([])
  await expect(lab.daemon.start({ config: { mode: 'ipvs' } })).rejects.toThrow('ended (1)')
  expect(await netState(lab.node)).toEqual(before)
  await expectFlow(lab, { ...FLOW, expect: answered })
})

test('--proxy-mode=auto serves in nftables mode, which needs no ip_vs', async () => {
  await lab.daemon.start({ flags: ['--proxy-mode=auto'] })
  await serve()
  await expectFlow(lab, { ...FLOW, expect: answered })
  expect(logged(lab.daemon)).toContainEqual(
    expect.objectContaining({
      level: 'info',
      mode: 'nftables',
      why: 'the best that there is, and this kernel can do it',
    }),
  )
  const samples = await lab.daemon.metrics()
  expect(sumOf(samples, 'nodeproxy_mode_info', { mode: 'nftables' })).toBe(1)
  const state = await netState(lab.node)
  for (const other of ['ipvs', 'iptables', 'userspace'] as const) {
    expect(oursIn(state, other)).toEqual([])
  }
})

test('the change to ipvs is refused on the running daemon, which serves on as before', async () => {
  await lab.daemon.start({ config: { mode: 'iptables' } })
  await serve()
  const before = await netState(lab.node)
  lab.daemon.writeConfig({ mode: 'ipvs' })
  lab.daemon.signal('SIGHUP')
  const refused = async () =>
    sumOf(await lab.daemon.metrics(), 'nodeproxy_config_reloads_total', { result: 'refused' })
  await expect.poll(refused).toBe(1)
  expect(lab.daemon.logs()).toMatch(/modprobe ip_vs\b/)
  expect(await netState(lab.node)).toEqual(before)
  await expectFlow(lab, { ...FLOW, expect: answered })
})
