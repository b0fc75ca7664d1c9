import { describe, inject } from 'vitest'
import type { DockerContext } from './global-setup.ts'

type Engine = Exclude<DockerContext, { readonly skipped: string }>

/** Names tests that never run. */
const NOTHING: Engine = {
  images: { daemon: '', server: '', kernelTest: '' },
  archives: '',
  run: '',
  uri: '',
}

/** Tests that need a Docker engine; where there is none they are skipped, and their name says why. */
export function describeWithEngine(name: string, define: (engine: Engine) => void): void {
  const found = inject('docker')
  const engine = found.skipped === undefined ? found : NOTHING
  const title = found.skipped === undefined ? name : `${name} (skipped: ${found.skipped})`
  if (engine.uri !== '') process.env['DOCKER_HOST'] = engine.uri
  // oxlint-disable-next-line vitest/valid-title
  describe.skipIf(engine === NOTHING)(title, () => {
    define(engine)
  })
}
