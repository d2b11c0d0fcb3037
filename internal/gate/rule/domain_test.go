package rule

import "testing"

// Examples of RFC 3492 and of names in use.
func TestPunycode(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"bücher": "bcher-kva", "münchen": "mnchen-3ya", "他们为什么不说中文": "ihqwcrb4cv8a8dqg056pqjye",
		"почемужеонинеговорятпорусски": "b1abfaaepdrnnbgefbadotcwatmq2g4l",
		"Pročprostěnemluvíčesky":       "Proprostnemluvesky-uyb24dma41a",
	} {
		if got, _ := toASCII(in); got != "xn--"+want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
