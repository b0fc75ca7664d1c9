import type { Finding } from './evidence/finding.ts'

/** Findings for people, one after the other. */
export function findingsText(findings: readonly Finding[]): string {
  return findings.length === 0 ? 'nothing was found\n' : findings.map(findingText).join('\n')
}

function findingText({ symptom, object, cause, evidence, remedy, commands }: Finding): string {
  return [
    `${symptom}: ${object}: ${cause}`,
    ...evidence.map((line) => `  seen: ${line}`),
    `  remedy: ${remedy}`,
    ...commands.map((line) => `  $ ${line}`),
  ]
    .map((line) => `${line.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '?')}\n`)
    .join('')
}
