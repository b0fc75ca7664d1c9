import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

/** The functions and classes that start processes, and their modules. */
const IMPORTS = {
  startProcess: './container-process.ts',
  startAttached: './attached-process.ts',
  runCommand: '../system/run-command.ts',
  namespaceNamed: '../system/namespace.ts',
  mountForContainer: '../volumes/container-mounts.ts',
  openPodDialer: '../network/pod-dialer.ts',
  Prober: '../network/prober.ts',
}

/** Prints why each of them starts nothing. */
const BODY = `
  const plan = {
    launch: { nsenter: '', setpriv: 'setpriv', user: { groups: [] } },
    command: ['/bin/sh'],
    environment: new Map(),
    workingDir: '',
  }
  console.log(await startProcess(plan))
  console.log((await startAttached(plan)).why)
  await runCommand(['ip', 'link']).catch(({ message }) => console.log(message))
  const tools = { folderOf: () => '/', scratch: '/' }
  await mountForContainer([], tools).catch(({ message }) => console.log(message))
  console.log(openPodDialer('none', ['ORCH_POD', 'x/y']).why)
  const prober = new Prober(namespaceNamed())
  const target = { kind: 'tcp', host: '127.0.0.1', port: 80 }
  for (const each of [1, 2]) console.log(each, (await prober.probe(target, 1000)).outcome)`

test('a process without free file descriptors starts nothing, says why, and goes on', async () => {
  const script = [
    "import { openSync } from 'node:fs'",
    ...Object.entries(IMPORTS).map(([name, path]) => {
      return `import { ${name} } from ${JSON.stringify(new URL(path, import.meta.url).href)}`
    }),
    "try { for (;;) openSync('/dev/null') } catch {}",
    BODY,
  ].join('\n')
  const command = 'ulimit -n 256 && exec "$0" --input-type=module --eval "$1"'
  const { stdout } = await promisify(execFile)('sh', ['-c', command, process.execPath, script])
  expect(stdout.trim().split('\n')).toEqual([
    'spawn setpriv EMFILE',
    'spawn setpriv EMFILE',
    'ip link: spawn ip EMFILE',
    'no mount namespace could be made: spawn unshare EMFILE',
    'no process could be started for connections to the pod',
    '1 unknown',
    '2 unknown',
  ])
})
