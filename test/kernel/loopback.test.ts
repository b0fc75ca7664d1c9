import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { deploy } from '../support/flows/deploy.ts'
import { underAttack } from '../support/flows/martian.ts'
import { backendProgram, type ProxyConfig, proxyMode } from '../support/lab/daemon-config.ts'
import { createLab, type Lab } from '../support/lab/lab.ts'
import { netState, savedRules } from '../support/lab/net-state.ts'
import { reconfigure } from '../support/lab/reconfigure.ts'
import { readSysctl, writeSysctls } from '../support/lab/sysctl.ts'
import { launcherOf } from '../support/programs.ts'

/**
 * What the node offers to itself alone stays its own (CVE-2020-8558), whatever node-proxy does with
 * route_localnet: a neighbour attacks from before the start until after the end.
 */
const ROUTE_LOCALNET = 'net/ipv4/conf/all/route_localnet'
const ON: ProxyConfig = { iptables: { localhostNodePorts: true } }
const DEADLINE = { timeout: 120_000, interval: 50 } as const
/** For what starts programs. */
const SELDOM = { ...DEADLINE, interval: 300 } as const
/** The modes that route loopback; the others serve node ports there by sockets. */
const ROUTES = ['iptables', 'nftables'].includes(proxyMode())
const OPEN = ROUTES ? '1' : '0'
/** After SIGTERM, iptables mode forwards in the place of userspace mode. */
const STOPPED = proxyMode() === 'userspace' ? '1' : OPEN

/** In User-mode Linux each start and each clean-up takes seconds. */
vi.setConfig({ testTimeout: 400_000 })

let lab: Lab
let untouched: readonly string[]

beforeAll(async () => {
  lab = await createLab()
  untouched = await netState(lab.node)
})
afterEach(async () => {
  await lab.daemon.kill()
  await lab.daemon.once(['--cleanup'])
  await writeSysctls(lab.node.agent, { [ROUTE_LOCALNET]: 0 })
  await lab.reset()
})
afterAll(() => lab?.close())

const routed = () => readSysctl(lab.node.agent, ROUTE_LOCALNET)
const becomes = (value: string) => expect.poll(routed, DEADLINE).toBe(value)
const guards = async () =>
  (await savedRules(lab.node)).filter((line) => line.includes('-A INPUT') && line.includes('GUARD'))

async function start(config: ProxyConfig): Promise<void> {
  await lab.daemon.start({ config })
  await deploy(lab, {
    key: 'ns/loopback',
    clusterIP: '172.30.71.1',
    endpoints: [{ ip: '10.180.0.1' }],
    ports: [{ name: '', port: 80, nodePort: 30080 }],
    spec: { type: 'NodePort' },
  })
  await lab.daemon.synced()
}

async function expectNothingLeft(): Promise<void> {
  expect(await netState(lab.node)).toEqual(untouched)
}

test('before the start, while it runs, after SIGTERM and after --cleanup', async () => {
  await underAttack(lab, async () => {
    await start(ON)
    await becomes(OPEN)
    await lab.daemon.stop()
    expect(await routed()).toBe(STOPPED)
    await lab.daemon.once(['--cleanup'])
    expect(await routed()).toBe('0')
    await expectNothingLeft()
  })
})

test('the field is turned off and on again, and off while the daemon was killed', async () => {
  await underAttack(lab, async () => {
    await start(ON)
    for (const [config, value] of [
      [{}, '0'],
      [ON, OPEN],
    ] as const) {
      await reconfigure(lab, config)
      await becomes(value)
    }
    await lab.daemon.kill()
    await start({})
    await becomes('0')
    await expect.poll(guards, SELDOM).toEqual([])
    await lab.daemon.kill()
    await lab.daemon.once(['--cleanup'])
    await expectNothingLeft()
  })
})

const OTHERS = ['iptables', 'userspace'].filter((mode) => mode !== proxyMode())

test.each(OTHERS as readonly ('iptables' | 'userspace')[])(
  'the mode changes to %s and back, and by restart',
  async (mode) => {
    const value = mode === 'iptables' ? '1' : '0'
    await underAttack(lab, async () => {
      await start(ON)
      await becomes(OPEN)
      await reconfigure(lab, { ...ON, mode })
      await becomes(value)
      await reconfigure(lab, ON)
      await becomes(OPEN)
      await lab.daemon.kill()
      await start({ ...ON, mode })
      await becomes(value)
      await lab.daemon.kill()
      await lab.daemon.once(['--cleanup'])
      expect(await routed()).toBe('0')
      await expectNothingLeft()
    })
  },
)

const BIND = { entry: 'bind', bindMap: ['127.0.0.1:8080=ns/loopback'] }

test.skipIf(proxyMode() === 'userspace')(
  'the mode changes to one that writes no rules',
  async () => {
    await underAttack(lab, async () => {
      await start(ON)
      await becomes(OPEN)
      await lab.daemon.kill()
      await start({ ...ON, mode: 'userspace', userspace: BIND })
      await becomes('0')
      await expect.poll(() => netState(lab.node), SELDOM).toEqual(untouched)
    })
  },
)

test('what another program opened is guarded, and given back as it was', async () => {
  await writeSysctls(lab.node.agent, { [ROUTE_LOCALNET]: 1 })
  await start(ON)
  await expect.poll(guards, SELDOM).toHaveLength(1)
  await underAttack(lab, () => reconfigure(lab, {}))
  expect(await routed()).toBe('1')
  await underAttack(lab, () => lab.daemon.kill())
  expect(await lab.daemon.once(['--cleanup'])).toContain('route_localnet')
  expect(await routed()).toBe('1')
  await expectNothingLeft()
})

test.runIf(proxyMode() === 'iptables')(
  'what another program opens while node-proxy runs is guarded within a minute, and stays open',
  async () => {
    await start({})
    await writeSysctls(lab.node.agent, { [ROUTE_LOCALNET]: 1 })
    await expect.poll(guards, SELDOM).toEqual([expect.stringContaining('NPGUARD-FOUND')])
    await underAttack(lab, () => reconfigure(lab, { nodePortAddresses: ['primary'] }))
    expect(await routed()).toBe('1')
    await lab.daemon.kill()
    expect(await lab.daemon.once(['--cleanup'])).toContain('route_localnet')
    expect(await routed()).toBe('1')
    await expectNothingLeft()
  },
)

test.runIf(ROUTES)('what an earlier version opened is closed', async () => {
  await underAttack(lab, async () => {
    await start(ON)
    await becomes('1')
    await lab.daemon.kill()
    await forgetWhatWasFound()
    await lab.daemon.once(['--cleanup'])
    expect(await routed()).toBe('0')
    await expectNothingLeft()
    await start(ON)
    await becomes('1')
    await lab.daemon.kill()
    await forgetWhatWasFound()
    await start({})
    await becomes('0')
  })
})

/** The node as versions left it that had the guard of the mode alone. */
async function forgetWhatWasFound(): Promise<void> {
  const iptables = (...args: string[]) =>
    lab.node.namespace.exec([backendProgram('iptables'), '-w', ...args])
  await iptables('-D', 'INPUT', '-j', 'NPGUARD-OPENED')
  await iptables('-F', 'NPGUARD-OPENED')
  await iptables('-X', 'NPGUARD-OPENED')
}

const READ_ONLY = [
  'mount --bind /proc/sys /proc/sys',
  'mount -o remount,bind,ro /proc/sys',
  'exec "$@"',
].join(' && ')
const LAUNCHER = launcherOf('node-proxy')

test.runIf(ROUTES)(
  'where /proc/sys cannot be written the guard stays, and --cleanup fails',
  async () => {
    await underAttack(lab, async () => {
      await start(ON)
      await becomes('1')
      await lab.daemon.stop()
      const readOnly = ['sh', '-c', READ_ONLY, 'sh', LAUNCHER, '--cleanup']
      await expect(lab.node.namespace.exec(readOnly, { timeoutMs: 60_000 })).rejects.toThrow(
        /exit 1: .*NP_NODEPROXY_LOOPBACK_OPEN/s,
      )
      expect(await routed()).toBe('1')
      expect(await guards()).toHaveLength(1)
      await lab.daemon.once(['--cleanup'])
      expect(await routed()).toBe('0')
      await expectNothingLeft()
    })
  },
)

test.runIf(ROUTES)(
  '--init-only guards what it opens, and closes what is no longer configured',
  async () => {
    lab.daemon.writeConfig(ON)
    const init = () => lab.daemon.once([`--config=${lab.daemon.configFile}`, '--init-only'])
    await underAttack(lab, async () => {
      await init()
      expect(await routed()).toBe('1')
      lab.daemon.writeConfig({})
      await init()
      expect(await routed()).toBe('0')
      await expectNothingLeft()
    })
  },
)

test.runIf(ROUTES)(
  'a guard that another program removed comes back with the next start',
  async () => {
    await underAttack(lab, async () => {
      await start({ ...ON, mode: 'iptables' })
      await becomes('1')
      await lab.node.namespace.exec([
        backendProgram('iptables'),
        '-w',
        '-D',
        'INPUT',
        '-j',
        'NPGUARD-OPENED',
      ])
      await lab.daemon.stop()
      await start(ON)
      await expect.poll(guards, SELDOM).toHaveLength(1)
    })
  },
)
