import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { stringify } from 'yaml'
import { PROMETHEUS_FOLDER } from '../../support/prometheus/rule-files.ts'

/** Runs `promtool test rules` with rule files of config/prometheus; its exit status and what it printed. */
export function promtool(files: readonly string[], tests: readonly unknown[]) {
  const folder = mkdtempSync(join(tmpdir(), 'np-alerts-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'tests.yaml')
  const rule_files = files.map((name) => join(PROMETHEUS_FOLDER, name))
  writeFileSync(file, stringify({ rule_files, evaluation_interval: '1m', tests }))
  const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], {
    encoding: 'utf8',
  })
  return { status, said: stdout + stderr }
}
