import { afterAll, beforeAll } from 'vitest'
import { type OrchctlShell, openOrchctlShell } from '../../support/orchctl/orchctl-shell.ts'
import { type KubeApiserverProcess, startKubeApiserver } from '../kube-apiserver-process.ts'

/** orchctl and kubectl at a kube-apiserver, for the tests of one file. */
export interface KubeShell {
  readonly shell: OrchctlShell
  readonly server: KubeApiserverProcess
  /** Creates a namespace for one test. @returns the flags that name it */
  inNew(namespace: string): Promise<readonly string[]>
  /** What both print, without ages; both must end with 0. */
  both(args: readonly string[]): Promise<{ readonly ours: string; readonly theirs: string }>
}

/** Starts the server before the tests of a file, and ends it after them. */
export function useOrchctl(): () => KubeShell {
  let opened: KubeShell | undefined
  const held = new AsyncDisposableStack()
  beforeAll(async () => {
    const server = held.use(await startKubeApiserver())
    const shell = held.use(await openOrchctlShell(server.kubeconfig))
    opened = {
      shell,
      server,
      async inNew(namespace) {
        await shell.ok(['create', 'namespace', namespace])
        return ['-n', namespace]
      },
      async both(args) {
        const ours = await shell.ok(args)
        const theirs = await shell.program('kubectl', args)
        return { ours: withoutAges(ours), theirs: withoutAges(theirs) }
      },
    }
  })
  afterAll(() => held.disposeAsync())
  return () => {
    if (opened === undefined) throw new Error('the server is there only while tests run')
    return opened
  }
}

/** Between two runs an age may grow, and with it its column. */
function withoutAges(text: string): string {
  return text.replaceAll(/ +(?:\d+[smhd]){1,2}(?= |$)/gm, ' AGE').replaceAll(/ +$/gm, '')
}
