import { afterAll, beforeAll, describe, test } from 'vitest'
import { newTestAuthority } from '../support/certificates/test-authority.ts'
import { expectScene } from '../support/kubectl/expect-scene.ts'
import { IDENTITY_FILES, IDENTITY_SCENES } from '../support/kubectl/identity-scenes.ts'
import { installedKubectls } from '../support/kubectl/installed.ts'
import { openShell } from '../support/kubectl/shell.ts'
import {
  type OrchServerProcess,
  startOrchServer,
} from '../support/orchserver/orch-server-process.ts'

const KUBECTLS = installedKubectls()

let server: OrchServerProcess | undefined
let files: Readonly<Record<string, string>> = IDENTITY_FILES

beforeAll(async () => {
  if (KUBECTLS.length === 0) return
  const { cert, key } = await (await newTestAuthority('example')).server()
  files = { ...IDENTITY_FILES, 'tls.crt': cert, 'tls.key': key }
  server = await startOrchServer()
})

afterAll(() => server?.[Symbol.asyncDispose]())

describe.each(KUBECTLS)('kubectl $version', (kubectl) => {
  test.concurrent.each(IDENTITY_SCENES)('$name', async ({ name, lines }) => {
    const namespace = `${name}-1-${kubectl.minor}`
    const { kubeconfig } = server!
    await using shell = await openShell({ kubectl, namespace, kubeconfig, files })
    await expectScene(shell, kubectl.minor, lines)
  })
})
