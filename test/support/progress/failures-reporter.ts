import { stripVTControlCharacters } from 'node:util'
import type { Reporter, SerializedError, TestModule } from 'vitest/node'

const MAX_LINES = 60
const MAX_CHARACTERS = 240

/**
 * A vitest reporter that repeats, as the last thing that a run prints, which tests failed: each in one line with the
 * first line of its error. The errors themselves may be thousands of lines above.
 */
export class FailuresReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const lines = modules.flatMap(failuresOf)
    if (lines.length === 0) return
    const more = lines.length > MAX_LINES ? [`… and ${lines.length - MAX_LINES} more`] : []
    process.stdout.write(`Failed:\n${[...lines.slice(0, MAX_LINES), ...more].join('\n')}\n\n`)
  }
}

function failuresOf(module: TestModule): readonly string[] {
  const place = `${module.project.name} ${module.relativeModuleId}`
  const outside = [module, ...module.children.allSuites()].flatMap((one) => {
    const errors = one.errors()
    const name = one.type === 'suite' ? ` > ${one.fullName}` : ''
    return errors.length === 0 ? [] : [lineOf(`${place}${name}`, errors)]
  })
  const inside = [...module.children.allTests('failed')].map((test) =>
    lineOf(`${place} > ${test.fullName}`, test.result().errors ?? []),
  )
  return [...outside, ...inside]
}

function lineOf(name: string, errors: readonly SerializedError[]): string {
  const text = stripVTControlCharacters(errors[0]?.message ?? '').trim()
  const [first = ''] = text.split('\n')
  const short = first.length > MAX_CHARACTERS ? `${first.slice(0, MAX_CHARACTERS)} …` : first
  return `- ${name}: ${short}`
}
