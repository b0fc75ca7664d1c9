import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasSystemd, type Machine, startMachine } from '../../support/machine/machine.ts'
import { addressed, runEach, runScript } from '../../support/machine/page-script.ts'
import { blockOf, rowsOf, spanOf } from '../../support/pages/page-section.ts'

/** The commands by which pages start programs, as root of a machine, and those of orchctl at once. */
describe.runIf(hasSystemd())('the programs on a machine', () => {
  let machine: Machine

  beforeAll(async () => {
    machine = await startMachine()
    await run(blockOf('orch-server.md', 'Install', 0))
    await run(addressed('10.0.0.1'))
  })
  afterAll(() => machine?.[Symbol.asyncDispose]())

  const run = (script: string): Promise<string> => runScript(machine, script)

  test('a control plane, and node-proxy with an account of it', async () => {
    await run(blockOf('./README.md', 'Run a control plane', 0))
    await run('cp /var/lib/orch-server/admin.kubeconfig /root')
    expect(await run('iptables-save')).toMatch(/^-A NPROXY-\S+ -d 10\.96\.0\.1\/32 -p tcp/m)
    await run('systemctl stop page-node-proxy')
    await run(blockOf('./README.md', 'Run the daemon', 0).replace('npm ci --omit=dev', ''))
    const help = await run(spanOf('./README.md', 'bin/node-proxy --help'))
    expect(help).toContain('--cluster-cidr')
    await run('systemctl stop page-node-proxy')
    await run(spanOf('./README.md', 'bin/node-proxy --cleanup'))
    expect(await run('iptables-save')).not.toContain('NPROXY-')
  })

  test('orchctl', async () => {
    const said = await runEach(machine, blockOf('orchctl.md', 'orchctl', 0))
    expect(said[1]).toMatch(/^default +orch +ClusterIP /m)
    expect(said.slice(2)).toEqual([
      'serviceaccount/robot created\n',
      expect.stringMatching(/^ey\S+\n$/),
      'no\n',
    ])
    const completed = await run(`${blockOf('orchctl.md', 'Completion', 0)}\ncomplete -p orchctl`)
    expect(completed).toBe('complete -o default -F _orchctl orchctl\n')
  })

  test('the help of every command of orchctl', { timeout: 600_000 }, async () => {
    const help = spanOf('orchctl.md', 'orchctl COMMAND --help')
    for (const command of rowsOf('orchctl.md', 'Commands')) {
      const said = await run(help.replace('orchctl COMMAND', command))
      expect(said).toMatch(new RegExp(`^Usage: ${command}[ |]`))
    }
  })

  test('an audit log, and what is read of it', async () => {
    await run('systemctl stop page-orch-server')
    await run(blockOf('audit.md', 'Audit log of orch-server', 0))
    const url = 'https://127.0.0.1:6443/api/v1/namespaces/default/pods'
    const admin = 'export KUBECONFIG=/var/lib/orch-server/admin.kubeconfig'
    await run(`${admin}
      kubectl create namespace shop; kubectl get secrets -n shop
      kubectl create clusterrolebinding bound --clusterrole=view --user=bob
      kubectl --as mallory get pods || true
      curl -sk -H 'Authorization: Bearer wrong' ${url}`)
    const id = await run(
      `curl -sk -o /dev/null -D - ${url} | sed -n 's/^audit-id: //Ip' | tr -d '\\r'`,
    )
    const script = `AUDIT_ID=${id.trim()}\n${blockOf('audit.md', 'Reading it', 0)}`
    await expect.poll(() => run(script)).toContain(`"auditID": "${id.trim()}"`)
    const said = await run(script)
    expect(said).toMatch(/\tlist\t\/api\/v1\/namespaces\/default\/pods\S*\t.*User "mallory" cannot/)
    expect(said).toMatch(/^ +\d+ 127\.0\.0\.1$/m)
    expect(said).toMatch(/\torch-admin\tlist\t/)
    expect(said).toContain('"who": "orch-admin"')
    await run('systemctl stop page-orch-server')
  })

  test('names of Services', async () => {
    await run(blockOf('dns.md', 'Run it', 0))
    const name = 'kubernetes.default.svc.cluster.local'
    const address = () => run(`dig +short @10.0.0.1 ${name}`)
    await expect.poll(address).toBe('10.96.0.1\n')
    await run('install -D /var/lib/orch-server/admin.kubeconfig /etc/orch-dns/kubeconfig')
    const answered = await run(blockOf('dns.md', 'Run it', 1))
    expect(answered).toMatch(
      /^kubernetes\.default\.svc\.cluster\.local\.\s+5\s+IN\s+A\s+10\.96\.0\.1$/m,
    )
  })
})
