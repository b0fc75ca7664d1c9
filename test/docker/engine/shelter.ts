import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'

/** Where dockerd and containerd write what their flags do not redirect: a key, plugins. */
const WRITTEN = ['/etc', '/opt']
const TIMEOUT_MS = 10_000

/**
 * In a mount namespace of its own: /run is empty and forgotten, and what is
 * written below /etc and /opt goes to `folder`.
 */
export async function shelter(folder: string): Promise<void> {
  await mount(['-t', 'tmpfs', '-o', 'mode=755', 'tmpfs', '/run'])
  for (const place of WRITTEN) {
    const upper = join(folder, `upper${place}`)
    const work = join(folder, `work${place}`)
    for (const path of [upper, work]) mkdirSync(path, { recursive: true })
    const layers = `lowerdir=${place},upperdir=${upper},workdir=${work}`
    await mount(['-t', 'overlay', '-o', layers, 'overlay', place])
  }
}

async function mount(args: readonly string[]): Promise<void> {
  await execa('mount', args, { timeout: TIMEOUT_MS })
}
