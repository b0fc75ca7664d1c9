import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasSystemd, type Machine, startMachine } from '../../support/machine/machine.ts'
import { addressed, runScript, UNTIL_READY } from '../../support/machine/page-script.ts'
import { blockOf, blocksOf, spanOf } from '../../support/pages/page-section.ts'

/** The commands of docs/operate/orch-server.md on a machine that is installed by them, in the order of the page. */
const KUBECTL = 'kubectl --kubeconfig /var/lib/orch-server/admin.kubeconfig'
const STOP = 'systemctl stop page-orch-server'

describe.runIf(hasSystemd())('orch-server on a machine', () => {
  let machine: Machine

  beforeAll(async () => {
    machine = await startMachine()
  })
  afterAll(() => machine?.[Symbol.asyncDispose]())

  const run = (script: string): Promise<string> => runScript(machine, script)
  const inBackups = (script: string): Promise<string> =>
    run(`cd /var/backups/orch-server\n${script}`)

  test('runs at once', async () => {
    await run(blockOf('orch-server.md', 'Install', 0))
    const services = await run(blockOf('orch-server.md', 'orch-server', 0))
    expect(services).toMatch(/^orch +ClusterIP +10\.96\.0\.2 /m)
    expect(await run(spanOf('orch-server.md', 'ss -ltnp'))).toMatch(/127\.0\.0\.1:6443 /)
    const holder = await run(spanOf('orch-server.md', 'fuser /var/lib/orch-server/lock'))
    expect(holder).toContain(
      (await run('systemctl show --value -p MainPID page-orch-server')).trim(),
    )
    await run(STOP)
  })

  /** systemd gives a folder of root, with all that is in it, to the user of the unit. */
  test('is installed as a service, once its files are those of its user', async () => {
    const [config = ''] = blocksOf('orch-server.md', 'Install', 'yaml')
    await machine.sh('cat > /etc/orch-server/config.yaml', config)
    await run('chown orch-server: /var/lib/orch-server')
    const start = run(blockOf('orch-server.md', 'Install', 1))
    await expect(start).rejects.toThrow('Job for orch-server.service failed')
    const log = 'journalctl -u orch-server -o cat'
    await run(
      `until ${log} | grep -q 'permission denied.*NP_ORCHSERVER_CERTIFICATE'; do sleep 0.1; done`,
    )
    await run(spanOf('orch-server.md', 'chown -R orch-server: /var/lib/orch-server'))
    await run(UNTIL_READY['orch-server']!)
    expect(await run('systemctl show --value -p User orch-server')).toBe('orch-server\n')
  })

  test('gives access to others', async () => {
    await run(blockOf('orch-server.md', 'Give access to others', 0))
    const mayCreate = (user: string) =>
      run(`kubectl --kubeconfig ${user}.kubeconfig auth can-i create services || true`)
    expect(await mayCreate('ann')).toBe('yes\n')
    expect(await mayCreate('builder')).toBe('no\n')
    const whoami = await run('kubectl --kubeconfig builder.kubeconfig auth whoami')
    expect(whoami).toContain('system:serviceaccount:default:builder')
    const help = await run(spanOf('orch-server.md', 'orch-server kubeconfig --help'))
    expect(help).toContain('--valid-for')
  })

  test('shows its health, and when its certificate ends', async () => {
    const shown = await run(blockOf('orch-server.md', 'Health, metrics, alarms', 0))
    expect(shown).toMatch(/\[\+\]store ok[^]*\napiserver_request_total/)
    const check = spanOf('orch-server.md', 'openssl x509 -checkend 1209600 -noout -in FILE')
    const checked = await run(check.replace('FILE', '/var/lib/orch-server/pki/server.crt'))
    expect(checked).toContain('will not expire')
  })

  test('is backed up, examined and restored', async () => {
    const [backup = '', restore = ''] = blockOf('orch-server.md', 'Backup and restore', 0).split(
      /(?=^systemctl stop)/m,
    )
    await run(`${KUBECTL} create configmap kept`)
    await inBackups(backup)
    await run(`${KUBECTL} create configmap later`)
    const checked = await inBackups(blockOf('orch-server.md', 'Damage', 0))
    expect(checked).toMatch(/store of "\/var\/lib\/orch-server" is intact[^]*file "FILE" is intact/)
    await inBackups(`${restore}${UNTIL_READY['orch-server']}`)
    const left = await run(`${KUBECTL} get configmaps -o name`)
    expect(left).toBe('configmap/kept\nconfigmap/kube-root-ca.crt\n')
  })

  test('is backed up every hour', async () => {
    await run(spanOf('orch-server.md', 'systemctl enable --now orch-server-backup.timer'))
    expect(await run('systemctl list-timers --no-legend')).toContain('orch-server-backup.service')
    await run('systemctl start orch-server-backup.service')
    expect(await inBackups('orch-server check *T*')).toContain('is intact')
  })

  test('is administered as its user, who reads why a request was refused', async () => {
    const script = `${blockOf('security.md', 'Prepare the shell', 0)}kubectl auth whoami; id -un`
    const said = await machine.sh(blockOf('security.md', 'Security of orch-server', 0), script)
    expect(said).toMatch(/orch-admin[^]*\norch-server\n$/)
    const url = 'https://127.0.0.1:6443/api'
    expect(await run(`curl -sk -H 'Authorization: Bearer wrong' ${url}`)).toContain('Unauthorized')
    const reasons = await run(blockOf('security.md', 'A request is refused', 0))
    expect(reasons).toContain('"reason":"no authenticator knows the token"')
  })

  test('runs Pods', async () => {
    await run(`systemctl stop orch-server\n${addressed('192.0.2.10')}`)
    await run(blockOf('orch-server.md', 'Pods on this machine', 0))
    await run(`${KUBECTL} wait --for=condition=Ready pod/hello --timeout=60s`)
    expect(await run(spanOf('orch-server.md', 'ip netns list'))).toContain('orch-pod-default-hello')
    const address = await run(`${KUBECTL} get pod hello -o jsonpath={.status.podIP}`)
    expect(await run(`curl -s http://${address}:8080/`)).toContain('Directory listing')
  })

  test('runs a Job', async () => {
    const said = await run(blockOf('orch-server.md', 'Workloads', 1))
    expect(said).toMatch(
      /condition met\nhello, world\nNAME [^]*\nhello +Complete +1\/1 [^]*Job completed\n[^]*deleted/,
    )
  })

  test('rolls out a Deployment', async () => {
    const said = await run(blockOf('orch-server.md', 'Workloads', 0))
    expect(said).toMatch(/(?:successfully rolled out[^]*){2}deployment.apps\/web rolled back\n$/)
    for (const describe of [
      spanOf('orch-server.md', 'kubectl describe pods'),
      spanOf('orch-server.md', 'kubectl describe replicasets'),
    ]) {
      const described = await run(describe.replace('kubectl', KUBECTL))
      expect(described).toMatch(/web-[^]*Events:[^]*(?:Scheduled|SuccessfulCreate)/)
    }
    await run(STOP)
    expect(await run('ip netns list')).toBe('')
  })
})
