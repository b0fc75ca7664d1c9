/** Major and minor of what `uname -r` prints, as one number that compares: `5.10.0-8-amd64` is 5,010. NaN: it is not a version. */
export function linuxVersion(release: string): number {
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(release) ?? []
  return Number(major) * 1_000 + Number(minor)
}
