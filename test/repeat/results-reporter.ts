import { appendFileSync } from 'node:fs'
import { stripVTControlCharacters } from 'node:util'
import type { Reporter, SerializedError, TestCase, TestModule, TestSuite } from 'vitest/node'
import type { TestResult } from './tally.ts'

/** The variable with the file that gets the results, for `vitest.config.ts`. */
export const RESULTS_FILE = 'NP_TEST_RESULTS'

/** Writes each result as a line of JSON as soon as it is there, so that runs may end early. */
export class ResultsReporter implements Reporter {
  readonly #file: string

  constructor(file: string) {
    this.#file = file
  }

  onTestCaseResult(test: TestCase): void {
    const { state, errors = [] } = test.result()
    if (state === 'pending') return
    const result = { ...placeOf(test.module), test: test.fullName, state }
    this.#write(state === 'failed' ? { ...result, error: textOf(errors) } : result)
  }

  onTestSuiteResult(suite: TestSuite): void {
    this.#outsideOfTests(suite.module, suite.errors(), `(around ${suite.fullName})`)
  }

  onTestModuleEnd(module: TestModule): void {
    this.#outsideOfTests(module, module.errors(), '(the file itself)')
  }

  onTestRunEnd(_: readonly TestModule[], errors: readonly SerializedError[]): void {
    if (errors.length === 0) return
    const place = { project: '', file: '', test: '(outside of any test)' }
    this.#write({ ...place, state: 'failed', error: textOf(errors) })
  }

  #write(result: TestResult): void {
    appendFileSync(this.#file, `${JSON.stringify(result)}\n`)
  }

  #outsideOfTests(module: TestModule, errors: readonly SerializedError[], test: string): void {
    if (errors.length > 0) {
      this.#write({ ...placeOf(module), test, state: 'failed', error: textOf(errors) })
    }
  }
}

function placeOf({ project, relativeModuleId }: TestModule) {
  return { project: project.name, file: relativeModuleId }
}

function textOf(errors: readonly SerializedError[]): string {
  const texts = errors.map(({ name, message, stacks = [] }) => {
    const [at] = stacks
    const where = at === undefined ? '' : `\n    at ${at.file}:${at.line}`
    return `${name ?? 'Error'}: ${message}${where}`
  })
  return stripVTControlCharacters(texts.join('\n'))
}
