import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { getContainerRuntimeClient } from 'testcontainers'
import { expect, test } from 'vitest'
import { COMMANDS } from '../../src/nodeproxy/commands/commands.ts'
import { root } from '../support/on-demand/root.ts'
import { daemonContainer } from './containers/manifest.ts'
import { TestContainer } from './containers/test-container.ts'
import { describeWithEngine } from './with-engine.ts'

const MIB = 1024 * 1024
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  version: string
}

describeWithEngine('the image', ({ images, run }) => {
  /** As bare as a container can be. */
  const daemon = (...args: readonly string[]) =>
    new TestContainer(images.daemon, `${run}-image`)
      .readOnly()
      .withDroppedCapabilities('ALL')
      .withSecurityOpt('no-new-privileges')
      .withNetworkMode('none')
      .withCommand([...args])

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

  test('holds the daemon and its packages, and nothing of their development', async () => {
    const shell = new TestContainer(images.daemon, `${run}-image`)
      .withEntrypoint(['sh', '-c'])
      .withCommand(['cd /opt/node-proxy; ls src; ls node_modules; find . -name "*.test.ts"'])
    const { status, output } = await shell.run()
    const names = output.split('\n')
    expect(status).toBe(0)
    expect(names).toEqual(expect.arrayContaining(['nodeproxy', 'modes', 'undici', 'netlink']))
    const unwanted = ['apiserver', 'sandbox', 'uml', 'vitest', 'typescript', 'testcontainers']
    expect(names.filter((name) => unwanted.includes(name) || name.endsWith('.test.ts'))).toEqual([])
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

  test('names its version and its licence, and is smaller than 265 MiB', async () => {
    const client = await getContainerRuntimeClient()
    const { Config, Size } = await client.container.dockerode.getImage(images.daemon).inspect()
    expect(Config.Entrypoint).toEqual(['node-proxy'])
    expect(Config.Labels).toMatchObject({
      'org.opencontainers.image.title': 'node-proxy',
      'org.opencontainers.image.version': version,
      'org.opencontainers.image.licenses': 'Apache-2.0',
    })
    expect(Size / MIB).toBeLessThan(265)
  })
})
