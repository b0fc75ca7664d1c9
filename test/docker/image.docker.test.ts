import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { getContainerRuntimeClient } from 'testcontainers'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { ownProcessor, PROCESSORS } from '../../packaging/node-program.ts'
import { COMMANDS } from '../../src/nodeproxy/commands/commands.ts'
import { root } from '../support/on-demand/root.ts'
import { exec } from './containers/cluster.ts'
import { daemonContainer } from './containers/manifest.ts'
import { outputOf, TestContainer } from './containers/test-container.ts'
import { filesOf, type ImageFile } from './images/image-files.ts'
import { writeArchives } from './images/images.ts'
import { describeWithEngine } from './with-engine.ts'

const MB = 1_000_000
/** What docs/operate/image.md promises of the larger one. */
const MAX_MB = { unpacked: 145, compressed: 55 }
const NONROOT = 65_532
/** What the daemon and its subcommands start, and how each says its version. */
const PROGRAMS = [
  'iptables --version',
  'ip6tables-restore --version',
  'iptables-nft-save --version',
  'iptables-legacy --version',
  'ip6tables-legacy-save --version',
  'nft --version',
  'ipset help',
  'ip -V',
  'ss --version',
  'conntrack --version',
  'sysctl --version',
  'modprobe --version',
  'sleep --version',
]
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  version: string
}

describeWithEngine('the image', ({ images, archives, run }) => {
  /** As bare as a container can be. */
  const bare = (image: string, ...args: readonly string[]) =>
    new TestContainer(image, `${run}-image`)
      .readOnly()
      .withDroppedCapabilities('ALL')
      .withSecurityOpt('no-new-privileges')
      .withNetworkMode('none')
      .withCommand([...args])
  const daemon = (...args: readonly string[]) => bare(images.daemon, ...args)

  test('says its version and its flags', async () => {
    expect(await daemon('--version').run()).toEqual({
      status: 0,
      output: `node-proxy ${version}\n`,
    })
    const help = await daemon('--help').run()
    expect(help).toMatchObject({ status: 0, output: expect.stringContaining('--proxy-mode') })
  })

  test('refuses a wrong flag and a wrong configuration with exit code 2', async () => {
    expect(await daemon('--proxy-mod=ipvs').run()).toEqual({
      status: 2,
      output: expect.stringContaining('did you mean --proxy-mode? (NP_NODEPROXY_FLAG)'),
    })
    const content =
      'apiVersion: proxy.config.orch.io/v1alpha1\nkind: NodeProxyConfiguration\nmod: ipvs\n'
    const configured = new TestContainer(images.daemon, `${run}-image`)
      .withCopyContentToContainer([{ content, target: '/etc/node-proxy/config.yaml' }])
      .withCommand(['--config=/etc/node-proxy/config.yaml'])
    expect(await configured.run()).toEqual({
      status: 2,
      output: expect.stringMatching(/config\.yaml:3:1.*\(NP_NODEPROXY_CONFIG_FIELD\)/),
    })
  })

  test('is the one that the DaemonSet names', () => {
    expect(daemonContainer().image).toBe(`node-proxy:${version}`)
  })

  test('runs both programs and every subcommand, each to an answer of its own', async () => {
    const dns = await daemon('--version').withEntrypoint(['/opt/node-proxy/bin/orch-dns']).run()
    expect(dns).toEqual({ status: 0, output: `orch-dns ${version}\n` })
    for (const { name } of COMMANDS) {
      const help = await daemon(name, '--help').run()
      expect(help).toMatchObject({
        status: 0,
        output: expect.stringContaining(`node-proxy ${name}`),
      })
    }
  })

  test.each(PROGRAMS)('has the libraries of %s', async (line) => {
    const [program = '', flag = ''] = line.split(' ')
    expect(await daemon(flag).withEntrypoint([program]).run()).toEqual({
      status: 0,
      output: expect.stringMatching(/\d/),
    })
  })

  test.each([0, NONROOT])('starts as user %i without compiling', async (user) => {
    const { status, output } = await daemon('--version')
      .withUser(`${user}:${user}`)
      .withEnvironment({ NODE_DEBUG_NATIVE: 'COMPILE_CACHE' })
      .run()
    expect(status).toBe(0)
    const taken = output.match(/lib\/\S+\.js was (?:accepted|rejected)/g) ?? []
    expect(taken.length).toBeGreaterThan(5)
    expect(taken.filter((line) => line.endsWith('rejected'))).toEqual([])
    expect(output).not.toMatch(/reading cache from \S+ for (?:ESM|CommonJS) \S*\/lib\/.*failed/)
  })

  test('is the same in every byte when it is built again', async () => {
    const again = mkdtempSync(join(tmpdir(), 'np-again-'))
    onTestFinished(() => rmSync(again, { recursive: true }))
    await writeArchives(again)
    const names = readdirSync(archives).toSorted()
    expect(names).toEqual(
      ['node-proxy', 'orch-server'].flatMap((name) => [`${name}.spdx.json`, `${name}.tar`]),
    )
    for (const name of names) {
      const isSame = readFileSync(join(archives, name)).equals(readFileSync(join(again, name)))
      expect([name, isSame]).toEqual([name, true])
    }
  })

  describe.each(['node-proxy', 'orch-server'] as const)('of %s', (name) => {
    const image = name === 'node-proxy' ? images.daemon : images.server
    let files: readonly ImageFile[]
    beforeAll(async () => {
      files = await filesOf(await getContainerRuntimeClient(), image)
    })

    test('has no shell, no interpreter but Node, no package manager, no rights of an owner', () => {
      const programs = files.filter(({ mode, type }) => type === 'file' && (mode & 0o111) !== 0)
      const names = programs.map(({ path }) => basename(path))
      expect(names).toContain('node')
      const unwanted =
        /^(?:\w*sh|busybox|toybox|perl.*|python.*|env|apt.*|dpkg.*|npm|npx|corepack|rpm)$/
      expect(names.filter((one) => unwanted.test(one))).toEqual([])
      expect(files.filter(({ mode }) => (mode & 0o6000) !== 0)).toEqual([])
    })

    test('holds its programs, and nothing of their development', () => {
      const paths = files.map(({ path }) => path)
      expect(paths).toContain(`opt/node-proxy/lib/${name}.js`)
      expect(paths).toContain('etc/ssl/certs/ca-certificates.crt')
      const unwanted = /\.test\.ts$|\.map$|vitest|typescript|testcontainers|rolldown\/|\.d\.ts$/
      expect(paths.filter((path) => unwanted.test(path))).toEqual([])
    })

    test('can write what a user without rights is to write, and nothing else', () => {
      const others = files.filter(({ mode, type }) => type !== 'symlink' && (mode & 0o002) !== 0)
      expect(others.map(({ path }) => path).toSorted()).toEqual(['tmp', 'var/tmp'])
      const owned = files.filter(({ owner }) => owner !== 0).map(({ path }) => path)
      expect(owned).toEqual(name === 'orch-server' ? ['var/lib/orch-server'] : [])
    })

    test('is as small as its page says, and names its version, licence and materials', async () => {
      const client = await getContainerRuntimeClient()
      const { Config, Size } = await client.container.dockerode.getImage(image).inspect()
      expect(Config.Entrypoint).toEqual([name])
      expect(Config.User).toBe(name === 'orch-server' ? `${NONROOT}:${NONROOT}` : '')
      expect(Config.Labels).toMatchObject({
        'org.opencontainers.image.title': name,
        'org.opencontainers.image.version': version,
        'org.opencontainers.image.licenses': 'Apache-2.0',
      })
      expect(Size / MB).toBeLessThan(MAX_MB.unpacked)
      expect(readFileSync(join(archives, `${name}.tar`)).length / MB).toBeLessThan(
        MAX_MB.compressed,
      )
    })

    test('names every package of Debian and npm of which it has files', () => {
      const sbom = JSON.parse(readFileSync(join(archives, `${name}.spdx.json`), 'utf8')) as {
        readonly packages: readonly {
          readonly name: string
          readonly externalRefs?: readonly { readonly referenceLocator: string }[]
        }[]
      }
      const purls = sbom.packages.flatMap(({ externalRefs = [] }) =>
        externalRefs.map(({ referenceLocator }) => referenceLocator),
      )
      const debian = files
        .filter(({ path }) => path.startsWith('var/lib/dpkg/status.d/'))
        .map(({ path }) => basename(path))
      expect(debian).toEqual(expect.arrayContaining(['libc6', 'ca-certificates']))
      expect(debian.includes('iptables')).toBe(name === 'node-proxy')
      const named = purls.flatMap((purl) => /^pkg:deb\/debian\/([^@]+)@\S/.exec(purl)?.[1] ?? [])
      expect(named.toSorted()).toEqual(debian.toSorted())
      expect(purls).toContain(
        `pkg:generic/node@${process.versions.node}?arch=${PROCESSORS[ownProcessor()]}`,
      )
      expect(purls).toContainEqual(expect.stringMatching(/^pkg:npm\/undici@\d/))
      expect(files.map(({ path }) => path)).toContain(`usr/share/sbom/${name}.spdx.json`)
    })
  })

  test('orch-server serves from a folder of its own, as a user without rights', async () => {
    const client = await getContainerRuntimeClient()
    const server = await new TestContainer(images.server, `${run}-server`)
      .readOnly()
      .withDroppedCapabilities('ALL')
      .withSecurityOpt('no-new-privileges')
      .withCommand(['--bind-address=0.0.0.0'])
      .start()
    onTestFinished(async () => {
      await server.stop()
    })
    const beside = new TestContainer(images.kernelTest, `${run}-caller`)
      .inside(server)
      .withCommand(['sleep', 'infinity'])
    const caller = await beside.start()
    onTestFinished(async () => {
      await caller.stop({ timeout: 0 })
    })
    const ready = () => exec(caller, 'curl -sk https://127.0.0.1:6443/readyz').catch(String)
    await expect.poll(ready).toBe('ok')
    const page = await exec(caller, 'curl -skf https://127.0.0.1:6443/page/')
    expect(page).toContain('<script type="module"')
    expect(await outputOf(client, server.getId())).not.toMatch(/"level":"(?:error|fatal)"/)
    const container = client.container.getById(server.getId())
    await container.stop({ t: 20 })
    expect((await container.inspect()).State).toMatchObject({ ExitCode: 0 })
  })
})
