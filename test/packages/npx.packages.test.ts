import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startOrchServer } from '../support/orchserver/orch-server-process.ts'
import { spanOf } from '../support/pages/page-section.ts'
import { npmPackageFile, VERSIONS } from './built-packages.ts'

const INSTALL_MS = 240_000

/** The npm package of orchctl, as npx starts it; npm fetches what it depends on. */
describe('orchctl by npx', () => {
  let folder: string

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'np-npx-'))
    copyFileSync(npmPackageFile(), join(folder, basename(npmPackageFile())))
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  /** As a user with no checkout around: the PATH is that of the machine. */
  async function npx(command: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
    const { stdout } = await execa('sh', ['-c', command.replace('0.1.0', VERSIONS.new)], {
      cwd: folder,
      env: {
        PATH: '/usr/local/bin:/usr/bin:/bin',
        HOME: folder,
        npm_config_yes: 'true',
        npm_config_prefer_offline: 'true',
        npm_config_cache:
          process.env['npm_config_cache'] ?? join(process.env['HOME'] ?? folder, '.npm'),
        ...env,
      },
      extendEnv: false,
      timeout: INSTALL_MS,
      stdin: 'ignore',
    })
    return stdout
  }

  test('says its version', async () => {
    const command = spanOf('orchctl.md', 'npx ./orchctl-0.1.0.tgz --version')
    expect(await npx(command)).toBe(`orchctl ${VERSIONS.new}`)
  })

  test('reads and changes objects of a server', async () => {
    await using server = await startOrchServer()
    const env = { KUBECONFIG: server.kubeconfig }
    const shown = await npx(spanOf('orchctl.md', 'npx ./orchctl-0.1.0.tgz get services'), env)
    expect(shown).toMatch(/^NAME +TYPE +CLUSTER-IP[^]*^orch +ClusterIP +10\.96\.0\.2 /m)
    const created = await npx('npx ./orchctl-0.1.0.tgz create configmap here -o name', env)
    expect(created).toBe('configmap/here')
  })

  test('ends with the exit code of orchctl', async () => {
    const { exitCode, stderr } = await npx('npx ./orchctl-0.1.0.tgz nonsense').then(
      () => ({ exitCode: 0, stderr: '' }),
      (error: { exitCode: number; stderr: string }) => error,
    )
    expect({ exitCode, stderr }).toEqual({
      exitCode: 2,
      stderr: expect.stringContaining('nonsense'),
    })
  })
})
