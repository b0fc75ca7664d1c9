import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Machine } from '../support/machine/machine.ts'
import { startDebian, VERSIONS } from './built-packages.ts'
import {
  ADMIN,
  addNetwork,
  answeredBy,
  leadTo,
  UNTIL_READY,
  UNTIL_SERVED,
} from './cluster-on-machine.ts'

type Age = keyof typeof VERSIONS

const INSTALL = 'dpkg -i'

/** orch-server of one minor version with node-proxy and orchctl of the next one, and the other way round. */
describe('versions beside each other', () => {
  let machine: Machine

  beforeAll(async () => {
    machine = await startDebian()
    await addNetwork(machine)
    await machine.sh(`cd /run/packages/old; ${INSTALL} *.deb
      ${UNTIL_SERVED}${ADMIN}orchctl apply -f /usr/share/doc/node-proxy/examples/rbac.yaml
      orch-server kubeconfig --service-account kube-system/node-proxy --output /etc/node-proxy/kubeconfig
      systemctl start node-proxy\n${UNTIL_READY}`)
  })
  afterAll(() => machine?.[Symbol.asyncDispose]())

  const run = (script: string): Promise<string> => machine.sh(`${ADMIN}${script}`)

  test.each<{ readonly server: Age; readonly clients: Age }>([
    { server: 'old', clients: 'old' },
    { server: 'new', clients: 'old' },
    { server: 'new', clients: 'new' },
    { server: 'old', clients: 'new' },
    { server: 'old', clients: 'old' },
  ])('orch-server $server, node-proxy and orchctl $clients', async ({ server, clients }) => {
    await run(`${INSTALL} /run/packages/${server}/orch-server_*.deb
      ${INSTALL} /run/packages/${clients}/node-proxy_*.deb /run/packages/${clients}/orchctl_*.deb`)
    const running = await run('orch-server --version; node-proxy --version; orchctl --version')
    expect(running).toBe(
      `orch-server ${VERSIONS[server]}\nnode-proxy ${VERSIONS[clients]}\norchctl ${VERSIONS[clients]}\n`,
    )
    await run(UNTIL_READY)
    for (const backend of ['one', 'two'] as const) {
      await leadTo(machine, backend)
      await answeredBy(machine, backend)
    }
    expect(await run('orchctl get service web -o jsonpath={.spec.clusterIP}')).toBe('10.96.0.10')
    expect(await run('orchctl create token default')).toMatch(/^ey\S+\n$/)
    expect(await run('orchctl auth can-i create services')).toBe('yes\n')
    expect(await run('orchctl doctor service/web')).toBe('nothing was found\n')
    const record = `record-${server}-${clients}-${Date.now()}`
    await run(`orchctl create configmap ${record}`)
    expect(await run('orchctl get configmaps -o name')).toContain(`configmap/${record}\n`)
  })

  test('purge without backups removes the user as well', async () => {
    await run('dpkg --purge orch-server')
    expect(await run('getent passwd orch-server || echo none')).toBe('none\n')
    expect(
      await run('ls -d /var/lib/orch-server /var/backups/orch-server 2>&1 || true'),
    ).not.toMatch(/^\//m)
  })
})
