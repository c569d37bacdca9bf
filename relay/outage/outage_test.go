package outage

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Waits double with jitter, stay short while nothing answers, and begin anew
// after a connection that lived. The same outage is told now and then.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o Outage
		told := 0
		step := func(lived time.Duration, why string, away bool, want time.Duration) {
			t.Helper()
			got, tell := o.Wait(lived, errors.New(why), away)
			if got < want/2 || got > want*3/2 {
				t.Errorf("%s after %v: %v, want about %v", why, lived, got, want)
			}
			if tell {
				told++
			}
			time.Sleep(got)
		}
		for want := First; want < Last; want *= 2 {
			step(0, "broken", false, want)
		}
		step(0, "broken", false, Last)
		step(0, "broken", false, Last)
		told = 0
		for range 20 { // 20 to 60 s
			step(0, "refused", true, Away)
		}
		if told < 2 || told > 7 {
			t.Errorf("told %d times", told)
		}
		step(time.Minute, "broken", false, First)
	})
}
