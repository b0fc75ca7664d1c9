import { blocksIn, sectionsOf } from './page-section.ts'

/** What a test that runs commands of a page has in its text. */
const MARKS: Readonly<Record<string, RegExp>> = {
  'security.md': /page: 'security\.md'|openSecurityPage\(\)/,
  'encryption.md': /page: 'encryption\.md'/,
  'nftables.md': /page: 'nftables\.md'/,
  'troubleshooting.md': /page: 'troubleshooting\.md'/,
}

/** Sections that `operatePage` runs before every command. */
const ALWAYS: readonly string[] = ['Prepare the shell']

/** A section, and the number of a block, or every block of it. */
const FOLLOWED =
  /\b(?:follow\(|expectShown\(|printed\(|prepare:)\s*(['"])(.*?)\1\s*(?:,\s*(\d+)\s*,?\s*\))?/g

/**
 * The blocks of commands of a page that none of these tests runs: `Rotate the key, block 1`. Tests write the
 * heading, and the number of the block where they run one alone, as literals: `follow('Rotate the key', 1)`.
 */
export function blocksWithoutTest(
  page: string,
  tests: readonly string[],
  sections = sectionsOf(page),
): readonly string[] {
  const ofPage = tests.filter((test) => MARKS[page]!.test(test)).join('\n')
  const calls = [...ofPage.matchAll(FOLLOWED)].map(([, , heading, block]) => ({ heading, block }))
  const isRun = (heading: string, index: number): boolean =>
    ALWAYS.includes(heading) ||
    calls.some(
      (call) => call.heading === heading && (call.block ?? String(index)) === String(index),
    )
  return sections.flatMap(({ heading, text }) =>
    blocksIn(text, 'sh').flatMap((_, index) =>
      isRun(heading, index) ? [] : [`${heading}, block ${index}`],
    ),
  )
}

/** The blocks of a page in a language that no test runs, by their first line. */
export function otherBlocks(page: string, sections = sectionsOf(page)): readonly string[] {
  return sections.flatMap(({ text }) =>
    ['', 'shell', 'bash', 'console'].flatMap((language) =>
      blocksIn(text, language).map((block) => block.split('\n')[0]!),
    ),
  )
}
