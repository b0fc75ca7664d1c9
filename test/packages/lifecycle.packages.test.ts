import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Machine } from '../support/machine/machine.ts'
import { blockOf, spanOf } from '../support/pages/page-section.ts'
import { PROGRAMS, startDebian, VERSIONS } from './built-packages.ts'
import {
  ADMIN,
  addNetwork,
  answeredBy,
  leadTo,
  UNTIL_READY,
  UNTIL_SERVED,
  URL_OF_WEB,
} from './cluster-on-machine.ts'

const PROCESS = 'systemctl show --value -p MainPID'
/** Of the user who ran orchctl, in a home that is no package's. */
const OF_USERS = /^\/root\/\.cache(?:\/orchctl.*)?$/
const BACKUPS = /^\/var\/backups\/orch-server(?:\/\d{8}T\d{6})?$/
/** Every file of the machine. */
const FILES = 'find / -xdev | LC_ALL=C sort'
/** What dpkg and the programs of Debian note for themselves. */
const OF_DEBIAN =
  /^\/(?:proc|sys|dev|run|tmp|var\/(?:tmp|lib\/(?:dpkg|apt|systemd)|log|cache\/(?:apt|debconf)))\/|^\/etc\/(?:passwd|group|g?shadow|subuid|subgid)-$|\.dpkg-(?:old|new)$/

/** The three packages on one machine, from the first installation to purge, while programs start and connections flow. */
describe('packages on a machine', () => {
  let machine: Machine

  beforeAll(async () => {
    machine = await startDebian()
    await machine.sh(`${FILES} > /run/files-before`)
    await addNetwork(machine)
  })
  afterAll(() => machine?.[Symbol.asyncDispose]())

  const run = (script: string): Promise<string> => machine.sh(`${ADMIN}${script}`)
  const versions = () => run(PROGRAMS.map((name) => `${name} --version`).join('; '))
  const all = (version: string): string => PROGRAMS.map((name) => `${name} ${version}\n`).join('')

  /** Runs a script while programs start and connections flow. @returns what those report */
  async function meanwhile(script: string) {
    await machine.sh('rm -f /tmp/enough')
    const starts = PROGRAMS.map((name) =>
      machine.sh(`n=0; while [ ! -e /tmp/enough ]; do
        said=$(${name} --version 2>&1) || { echo "$said"; exit 1; }
        echo "$said"
      done | sort | uniq -c`),
    )
    const traffic = machine.sh(
      `/run/packages/node /run/packages/traffic.script.ts ${URL_OF_WEB} /tmp/enough`,
    )
    const [before, output] = [await versions(), await machine.sh(script)]
    await machine.sh('touch /tmp/enough')
    const { kept, fresh } = JSON.parse(await traffic)
    return { before, output, started: await Promise.all(starts), kept, fresh }
  }

  type Report = Awaited<ReturnType<typeof meanwhile>>

  /** Every program started, as one version or the other, and every request was answered. */
  function expectUnnoticed({ started, kept, fresh }: Report): void {
    for (const [index, name] of PROGRAMS.entries()) {
      const lines = started[index]?.trim().split('\n') ?? []
      expect(lines).not.toEqual([])
      const known = Object.values(VERSIONS).map((version) => `${name} ${version}`)
      expect(lines.filter((line) => !known.includes(line.replace(/^ *\d+ /, '')))).toEqual([])
    }
    expect(kept).toMatchObject({ failures: [], connections: 1 })
    expect(fresh).toMatchObject({ failures: [] })
    expect(fresh.connections).toBeGreaterThan(1)
  }

  test('are installed as the page says', async () => {
    const [install = '', connect = ''] = blockOf('install.md', 'Debian packages', 0).split(
      /(?=^export KUBECONFIG)/m,
    )
    await run(`cd /run/packages/old\n${install.replaceAll('dist/', '')}`)
    expect(await versions()).toBe(all(VERSIONS.old))
    expect(await run('systemctl is-enabled node-proxy orch-server')).toBe('enabled\nenabled\n')
    expect(await run('systemctl is-active node-proxy || true')).toBe('inactive\n')
    await run(`${UNTIL_SERVED}${connect}${UNTIL_READY}`)
    expect(await run(`dpkg --verify ${PROGRAMS.join(' ')}`)).toBe('')
  })

  test('serve', async () => {
    await leadTo(machine, 'one')
    await answeredBy(machine, 'one')
    expect(await run('iptables-save -t nat')).toContain('-d 10.96.0.10/32')
  })

  test('are upgraded while programs start and connections flow', async () => {
    await machine.sh('echo "# ours" >> /etc/node-proxy/config.yaml')
    const pid = await run(`${PROCESS} node-proxy`)
    const report = await meanwhile(
      `cd /run/packages/new\n${blockOf('upgrade.md', 'Debian packages', 0)}
      dpkg -i orch-server_*.deb orchctl_*.deb`,
    )
    expect(report.before).toBe(all(VERSIONS.old))
    expectUnnoticed(report)
    expect(await versions()).toBe(all(VERSIONS.new))
    expect(await run(`${PROCESS} node-proxy`)).not.toBe(pid)
    const program = await run(`readlink /proc/$(${PROCESS} node-proxy | tr -d '\\n')/exe`)
    expect(program).toMatch(/^\/usr\/lib\/node-proxy\/versions\/0\.2\.0-[0-9a-f]{8}\/bin\/node\n$/)
    expect(await run('cat /etc/node-proxy/config.yaml')).toContain('# ours\n')
    await leadTo(machine, 'two')
    await answeredBy(machine, 'two')
  })

  test('have started when systemd says so', async () => {
    const shown = await run('systemctl show -p Type,SubState,StatusText node-proxy orch-server')
    expect(shown).toBe(`Type=notify
StatusText=follows https://127.0.0.1:6443
SubState=running

Type=notify
StatusText=serves https://127.0.0.1:6443
SubState=running
`)
    const start = 'systemctl restart node-proxy 2>&1'
    await machine.sh('sed -i "s/^mode: .*/mode: nonsense/" /etc/node-proxy/config.yaml')
    await expect(run(start)).rejects.toThrow('systemctl status node-proxy.service')
    expect(await run('journalctl -u node-proxy -o cat')).toContain('nonsense')
    await machine.sh('sed -i "s/^mode: .*/mode: iptables/" /etc/node-proxy/config.yaml')
    await run(`${start}\n${UNTIL_READY}`)
  })

  test('run with the rights of their units alone', async () => {
    const rights = await run(
      `for unit in node-proxy orch-server; do
        grep -E '^(CapBnd|NoNewPrivs|Seccomp):' /proc/$(${PROCESS} $unit)/status
      done`,
    )
    // CAP_DAC_READ_SEARCH, NET_BIND_SERVICE, NET_ADMIN, NET_RAW, SYS_MODULE; SYS_RESOURCE where the machine has it.
    expect(rights).toMatch(
      /^CapBnd:\t0000000001?0*13404\nNoNewPrivs:\t1\nSeccomp:\t2\nCapBnd:\t0{16}\nNoNewPrivs:\t1\nSeccomp:\t2\n$/,
    )
    await run('systemctl enable --now orch-server-backup.timer')
    await run('systemctl start orch-server-backup.service')
    expect(await run('ls /var/backups/orch-server | wc -l')).toBe('1\n')
  })

  test('start from what was compiled when they were installed', async () => {
    const said = await run(`exec 2>&1; export NODE_DEBUG_NATIVE=COMPILE_CACHE
      node-proxy --version; orchctl --version
      setpriv --reuid orch-server --clear-groups orch-server --version`)
    for (const name of PROGRAMS)
      expect(said).toMatch(new RegExp(`/lib/${name}\\.js.* was accepted`))
    expect(said).not.toMatch(/was rejected|writing cache/)
  })

  test('go back one minor version, also when that is interrupted', async () => {
    const report = await meanwhile(
      `cd /run/packages/old; dpkg --unpack *.deb
      for program in ${PROGRAMS.join(' ')}; do $program --version; done
      dpkg --configure -a`,
    )
    expectUnnoticed(report)
    expect(report.output).toContain(all(VERSIONS.new))
    expect(await versions()).toBe(all(VERSIONS.old))
    await run(UNTIL_READY)
    expect(await run('orchctl get services -o name')).toContain('service/web\n')
    await leadTo(machine, 'one')
    await answeredBy(machine, 'one')
  })

  test('are repaired by installing the same version again', async () => {
    const report = await meanwhile('dpkg -i /run/packages/old/*.deb')
    expectUnnoticed(report)
    expect(await versions()).toBe(all(VERSIONS.old))
    expect(await run('ls /usr/lib/node-proxy/versions | wc -l')).toBe('2\n')
  })

  test('leave no rule behind when they are removed', async () => {
    await run(UNTIL_READY)
    expect(await run('iptables-save')).toContain('NPROXY-')
    await run(spanOf('upgrade.md', 'apt-get remove node-proxy'))
    expect(await run('iptables-save')).not.toContain('NPROXY-')
    expect(await run('ls /etc/node-proxy')).toBe('config.yaml\nkubeconfig\n')
    expect(await run('ls /usr/lib/node-proxy 2>&1 || true')).toContain('No such file')
  })

  test('start again when they are installed after a removal', async () => {
    await run(`dpkg -i /run/packages/new/node-proxy_*.deb\n${UNTIL_READY}`)
    expect(await run('systemctl is-active node-proxy')).toBe('active\n')
    await answeredBy(machine, 'one')
  })

  test('leave nothing but backups and the caches of users when they are purged', async () => {
    await run(spanOf('upgrade.md', 'apt-get purge node-proxy orch-server orchctl'))
    const added = await machine.sh(`${FILES} | LC_ALL=C comm -13 /run/files-before -`)
    const left = added.split('\n').filter((path) => path !== '' && !OF_DEBIAN.test(path))
    expect(left.filter((path) => !BACKUPS.test(path) && !OF_USERS.test(path))).toEqual([])
    expect(left.length).toBeGreaterThan(1)
    expect(await run('systemctl list-unit-files | grep -E "node-proxy|orch-server" || true')).toBe(
      '',
    )
    expect(await run('getent passwd orch-server')).toContain('orch-server')
  })
})
