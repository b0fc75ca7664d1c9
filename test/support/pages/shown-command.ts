import { join } from 'node:path'
import { expect } from 'vitest'
import { programsFolder } from '../programs.ts'
import { blocksOf } from './page-section.ts'
import { shapeFaults } from './shown-output.ts'

const PAGE = 'troubleshooting.md'
const BIN = join(programsFolder(), 'bin')

/** Runs a script. @returns everything that it printed, also to standard error */
export type Run = (script: string) => Promise<string>

/** Runs a command of the page on symptoms, counted from 0, and expects that it prints what the page shows. */
export async function expectSymptomShown(heading: string, block: number, run: Run): Promise<void> {
  const [command, shown] = ['sh', 'text'].map(
    (language) => blocksOf(PAGE, heading, language)[block],
  )
  if (command === undefined || shown === undefined) {
    throw new Error(`${PAGE} has no command ${block} with its output under “${heading}”`)
  }
  const printed = await run(scriptOf(command))
  expect(shapeFaults(shown, printed), `the output of ${command}`).toEqual([])
}

/** Runs the commands of a block of the page. @returns everything that they printed */
export async function printedBy(heading: string, block: number, run: Run): Promise<string> {
  const command = blocksOf(PAGE, heading, 'sh')[block]
  if (command === undefined) throw new Error(`${PAGE} has no command ${block} under “${heading}”`)
  return await run(scriptOf(command))
}

function scriptOf(command: string): string {
  return `{ PATH=${BIN}:$PATH\n${command}} 2>&1; true`
}
