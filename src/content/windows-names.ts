/** reference/content: characters and device names that Windows reserves in every folder, with any extension. */
const RESERVED = /[<>:"|?*]/;
const DEVICE = /^(con|prn|aux|nul|com[1-9]|lpt[1-9]|conin\$|conout\$) *(\.|$)/;

/** Returns why Windows cannot check out a file or folder with this name; undefined if it can. */
export function windowsProblem(segment: string): string | undefined {
  if (RESERVED.test(segment))
    return 'its path has one of < > : " | ? *, which Windows does not allow in names';
  if (/[. ]$/.test(segment)) return 'its path has a segment that ends with a dot or a space';
  // Superscript digits count as digits.
  return DEVICE.test(segment.normalize('NFKC').toLowerCase())
    ? `its path has the segment ${JSON.stringify(segment)}, which is a device on Windows`
    : undefined;
}
