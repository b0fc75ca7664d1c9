import { expect } from 'vitest'
import type { Line } from './scenes.ts'
import type { Shell } from './shell.ts'

/** Runs the lines that this minor version of kubectl supports, each of which must end with 0. */
export async function expectScene(
  shell: Shell,
  minor: number,
  lines: readonly Line[],
): Promise<void> {
  for (const [command, said, since = 0] of lines) {
    if (minor < since) continue
    const { text, status } = await shell.run(command)
    expect({ command, status, text }).toEqual({
      command,
      status: 0,
      text: expect.stringMatching(said),
    })
  }
}
