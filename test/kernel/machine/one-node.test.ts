import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasSystemd, type Machine, startMachine } from '../../support/machine/machine.ts'
import {
  ADMIN,
  addressed,
  runEach,
  runScript,
  UNTIL_READY,
} from '../../support/machine/page-script.ts'
import { blockOf, blocksOf, spanOf } from '../../support/pages/page-section.ts'

/**
 * The machine `node-7` of the pages: node-proxy is installed on it as docs/operate/install.md says, beside an
 * orch-server that runs Pods; then come the commands of the other pages about a node.
 */
describe.runIf(hasSystemd())('node-proxy on a machine', () => {
  let machine: Machine

  beforeAll(async () => {
    machine = await startMachine()
    await run(`${addressed('192.0.2.7')}; ip route add default via 192.0.2.1`)
  })
  afterAll(() => machine?.[Symbol.asyncDispose]())

  const run = (script: string): Promise<string> => runScript(machine, script)
  const asAdmin = (script: string): Promise<string> => run(`${ADMIN}\n${script}`)
  const each = (script: string): Promise<readonly string[]> => runEach(machine, script)
  const restarted = () => run(`systemctl restart node-proxy\n${UNTIL_READY['node-proxy']}`)
  const version = () =>
    run("tr '\\0' ' ' < /proc/$(systemctl show --value -p MainPID node-proxy)/cmdline")

  test('is installed', async () => {
    const [program = '', service = ''] = blockOf('install.md', 'On single machines', 0).split(
      /(?=^install -D -m 0644)/m,
    )
    await run(program)
    await run(
      `orch-server --bind-address=0.0.0.0 --sandbox-node --pod-cidr=10.0.0.0/24 \
        --load-balancer-pool=192.0.2.200/32 --dns-address=192.0.2.7:53 \
        --dns-client-networks=192.0.2.0/24,10.0.0.0/8`,
    )
    await run('cp /var/lib/orch-server/admin.kubeconfig /root')
    await asAdmin('kubectl config set-context --current --namespace=shop')
    await asAdmin(
      `kubectl apply -f test/support/machine/shop.yaml -f config/kubernetes/node-proxy/rbac.yaml
      orch-server kubeconfig --no-renewal --service-account kube-system/node-proxy --output my.kubeconfig
      kubectl wait --for=condition=Ready pod --all --timeout=60s`,
    )
    await run(`${service}${UNTIL_READY['node-proxy']}`)
    const ready = await run(spanOf('install.md', 'curl 127.0.0.1:10256/readyz'))
    expect(JSON.parse(ready)).toMatchObject({ ready: true, reasons: [] })
    expect(await run('curl -s http://10.96.0.10/')).toContain('Directory listing')
  })

  test('says its version, and that of iptables', async () => {
    const said = await run(
      `${spanOf('troubleshooting.md', 'bin/node-proxy --version')}
      ${spanOf('troubleshooting.md', 'iptables --version')}`,
    )
    expect(said).toMatch(/^node-proxy 0\.1\.0\niptables v/)
  })

  test('may renew its token', async () => {
    await asAdmin(blockOf('install.md', 'The token of a kubeconfig', 0))
    const as = '--as=system:serviceaccount:kube-system:node-proxy -n kube-system'
    const mayRenew = `kubectl auth can-i create serviceaccounts/node-proxy --subresource=token ${as}`
    expect(await asAdmin(mayRenew)).toBe('yes\n')
  })

  test('shows what it does', async () => {
    const healthy = await run(spanOf('./README.md', 'curl 127.0.0.1:10256/healthz'))
    expect(healthy).toContain('"healthy":true')
    const metrics = await run(spanOf('./README.md', 'curl 127.0.0.1:10249/metrics'))
    expect(metrics).toMatch(/^nodeproxy_mode_info\{.*mode="iptables".*\} 1$/m)
    const [all, ofShop, web = ''] = await each(blockOf('traffic.md', 'Traffic of each Service', 0))
    expect(all).toMatch(/^kube-system\/cluster-dns [^]*^ {2}10\.0\.0\.3:8080 http\/TCP +[1-9]/m)
    expect(ofShop).not.toContain('kube-system')
    expect(JSON.parse(web)).toMatchObject({ service: 'shop/web' })
    const [read, pending] = await each(blockOf('inspection.md', 'On the node', 0))
    expect(pending).toBe('')
    expect(read).toMatch(/^\{"version":"0\.1\.0","nodeName":"node-7"/)
  })

  test('has a doctor', async () => {
    const said = await each(blockOf('doctor.md', 'Doctor of a node', 0))
    expect(said.slice(0, -1)).toEqual(said.slice(1).map(() => 'nothing was found\n'))
    expect(JSON.parse(said.at(-1) ?? '')).toMatchObject({ node: 'node-7' })
  })

  test('is read from other machines', async () => {
    await asAdmin(blockOf('page.md', 'The page of the cluster', 0))
    await asAdmin(blockOf('page.md', 'The page of the cluster', 1))
    const [settings = ''] = blocksOf('page.md', 'The page of the cluster', 'yaml')
    await run('cp node-7-tls/* /etc/node-proxy')
    await machine.sh('cat >> /etc/node-proxy/config.yaml', settings)
    await restarted()
    const status = spanOf(
      'page.md',
      'kubectl get --raw /api/v1/nodes/node-7/proxy/inspection/v1/status',
    )
    expect(await asAdmin(status)).toContain('"nodeName":"node-7"')
    expect(await asAdmin(blockOf('orch-server.md', 'Read nodes', 0))).toContain('"mode":"iptables"')
    await asAdmin(blockOf('inspection.md', 'From other machines', 0))
    const may = await asAdmin('kubectl auth can-i get nodes --subresource=proxy --as=ann')
    expect(may).toBe('yes\n')
    await asAdmin(`orchctl create serviceaccount reader
      orchctl create clusterrolebinding reader --clusterrole=node-inspection-reader \
        --serviceaccount=shop:reader
      cp node-7-tls/ca.crt .`)
    const read = await asAdmin(blockOf('inspection.md', 'From other machines', 1))
    expect(read).toContain('"nodeName":"node-7"')
    const explained = await asAdmin(blockOf('inspection.md', 'By orch-server', 0))
    expect(JSON.parse(explained)).toMatchObject({ isWell: true, port: 80 })
    const whoami = spanOf('inspection.md', 'orchctl auth whoami --token …')
    expect(await asAdmin(whoami.replace('…', '"$(orchctl create token reader)"'))).toContain(
      'system:serviceaccount:shop:reader',
    )
  })

  test('explains connections', async () => {
    const said = await each(blockOf('orchctl.md', 'What happens to this connection?', 0))
    const kernel = /^On node node-7: [^]*100 % {2}10\.0\.0\.3:8080 gets it, from 10\.0\.0\.1\n/
    expect(said).toEqual(said.map(() => expect.stringMatching(kernel)))
    expect(said).toHaveLength(6)
  })

  test('has names that resolve', async () => {
    const said = await each(blockOf('orchctl.md', 'Why does this name not resolve?', 0))
    expect(said).toEqual(said.map(() => expect.stringMatching(/^\S+ resolves, as /m)))
    expect(said.at(-1)).toContain('as it should be')
    expect(said).toHaveLength(5)
  })

  test('has a doctor of the cluster', async () => {
    await asAdmin(`folder=/var/run/secrets/kubernetes.io/serviceaccount; mkdir -p $folder
      orchctl create token default > $folder/token`)
    const [refused, ...others] = await each(blockOf('orchctl.md', 'Why does this not work?', 0))
    expect(refused).toContain('serviceaccount/shop/default: it may not list pods')
    const ofNodes = await each(blockOf('doctor.md', 'Doctor of a node', 1))
    const all = [...others, ...ofNodes]
    expect(all).toEqual(['', '', '', ''].map(() => 'nothing was found\n'))
  })

  test('says what would change', async () => {
    await asAdmin(`sed 's/^mode: iptables/mode: userspace/' /etc/node-proxy/config.yaml > new.yaml
      kubectl get service web -o yaml | sed 's/port: 80$/port: 81/' > web.yaml`)
    const [repair, userspace, nftables, changed, removed] = await each(
      blockOf('upgrade.md', 'See what would change', 0),
    )
    expect(repair).toMatch(/^mode iptables on node-7: .*nothing would change/)
    expect(userspace).toMatch(/^mode userspace on node-7: \d+ objects to set/)
    expect(nftables).toMatch(/^mode nftables on node-7: \d+ objects to set/)
    expect(changed).toContain('--dport 81 ')
    expect(removed).toContain('shop/web')
  })

  test('is upgraded while its rules stay, and goes back', async () => {
    expect(await version()).toContain('/opt/node-proxy-0.1.0/')
    expect(await run(blockOf('upgrade.md', 'On a machine', 0))).toBe('node-proxy 0.1.0\n')
    expect(await run('curl -s http://10.96.0.10/')).toContain('Directory listing')
    await run(UNTIL_READY['node-proxy']!)
    expect(await version()).toContain('/opt/node-proxy-0.1.1/')
    await run(
      'ln -sfn node-proxy-0.1.0 /opt/node-proxy.next && mv -T /opt/node-proxy.next /opt/node-proxy',
    )
    await restarted()
    expect(await version()).toContain('/opt/node-proxy-0.1.0/')
  })

  test('is removed', async () => {
    const owner = spanOf('upgrade.md', 'ss -xlp src @node-proxy')
    expect(await run(owner)).toContain('node-MainThread')
    expect(await run('iptables-save')).toContain('NPROXY-')
    await run(blockOf('upgrade.md', 'Remove', 0))
    expect(await run(`iptables-save; ${owner}`)).not.toMatch(/NPROXY-|node-MainThread/)
    const settings = await run(
      spanOf(
        'upgrade.md',
        'sysctl -w net.ipv4.conf.all.arp_ignore=0 net.ipv4.conf.all.arp_announce=0',
      ),
    )
    expect(settings).toContain('net.ipv4.conf.all.arp_announce = 0')
  })

  test('serves addresses of its own as an ordinary user', async () => {
    await run('install -D -o daemon /root/admin.kubeconfig /tmp/home/.kube/config')
    const bind = blockOf('userspace.md', 'Bind: as any user, at addresses of your own', 0)
    const here = await run(`HOME=/tmp/home USER=daemon\n${bind}`)
    expect(here).toContain('Directory listing')
    const query = 'dig +short @127.0.0.1 -p 5353 web.shop.svc.cluster.local'
    expect(await run(query)).toBe('10.96.0.10\n')
    await run('systemctl stop page-node-proxy')
  })

  test('forwards by itself', async () => {
    await run(blockOf('userspace.md', 'Redirect: for a whole node, as root', 0))
    expect(await run('curl -s http://10.96.0.10/')).toContain('Directory listing')
    const shown = await run(blockOf('userspace.md', 'Redirect: for a whole node, as root', 1))
    expect(shown).toMatch(/^10\.96\.0\.10,tcp:80$/m)
    expect(shown).toMatch(/^-A PREROUTING .*-j NPUS-/m)
    await run('systemctl stop page-node-proxy; bin/node-proxy --cleanup')
  })
})
